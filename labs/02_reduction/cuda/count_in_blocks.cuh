/// @file
/// What the histograms whose blocks have counts of their own have in common.
#pragma once

#include <algorithm>

#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "histogram.hpp"

namespace reduction {

/// Threads of a block.
constexpr unsigned histogram_threads = 256;
/// Elements of a block, unless there are too few: if it had one for each thread, it would add as many counts to
/// `counts` as it has elements.
constexpr unsigned histogram_tile = 16 * histogram_threads;

/// Sets the counts to zero and launches a kernel that adds those of n elements: kernel(a, n, bins, counts).
template <class T, class Kernel>
void count_in_blocks(Kernel kernel, const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<std::uint32_t> result(p.bins);
    const unsigned blocks =
        std::min(gpulab::grid_size(p.size(), histogram_tile), gpulab::resident_blocks(kernel, histogram_threads));
    const auto launch = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemsetAsync(result.data(), 0, result.bytes(), stream));
        kernel<<<blocks, histogram_threads, 0, stream>>>(a.data(), p.size(), p.bins, result.data());
    };
    watch.tile(blocks * std::size_t{histogram_threads});
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(counts);
}

} // namespace reduction
