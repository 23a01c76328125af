/// @file
/// The host half that several rungs share (the first of them shows it in full): from a kernel that computes one sum per
/// block to one number in host memory.
#pragma once

#include <utility>
#include <vector>

#include "gpulab/cuda/timing.hpp"
#include "reduction.hpp"

namespace reduction {

/// A kernel that adds up n numbers and writes the sum of each block to sums[blockIdx.x].
template <class T> using SumKernel = void(const T* a, std::size_t n, T* sums);

/// As cuda_two_level: one thread for each element, and round after round over the blocks' sums.
/// @param threads per block; a block adds up this many elements
template <class T>
void sum_in_rounds(SumKernel<T>* kernel, unsigned threads, const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    const std::size_t blocks = gpulab::grid_size(p.size(), threads);
    gpulab::DeviceBuffer<T> sums(blocks), sums_of_sums(gpulab::ceil_div(blocks, threads));
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    const auto launch = [&](cudaStream_t stream) {
        const T* from = a.data();
        T *to = sums.data(), *other = sums_of_sums.data();
        std::size_t n = p.size();
        for (;;) { // round after round, until one block is enough; a launch waits for the one before it
            const unsigned grid = gpulab::grid_size(n, threads);
            kernel<<<grid, threads, 0, stream>>>(from, n, to);
            CUDA_CHECK_LAUNCH();
            if (grid == 1) break;
            from = to;
            std::swap(to, other);
            n = grid;
        }
        CUDA_CHECK(cudaMemcpyAsync(host.data(), to, sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, sums_of_sums, host));
    sum[0] = host[0];
}

/// As cuda_grid_stride: `blocks` blocks of a kernel that takes any n with any grid, then one block over their sums.
template <class T>
void sum_in_two_rounds(SumKernel<T>* kernel, unsigned blocks, unsigned threads, const SumProblem<T>& p, Scalar<T>& sum,
                       Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<T> sums(blocks), result(1);
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    const auto launch = [&](cudaStream_t stream) {
        kernel<<<blocks, threads, 0, stream>>>(a.data(), p.size(), sums.data());
        CUDA_CHECK_LAUNCH();
        kernel<<<1, threads, 0, stream>>>(sums.data(), blocks, result.data());
        CUDA_CHECK_LAUNCH();
        CUDA_CHECK(cudaMemcpyAsync(host.data(), result.data(), sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, result, host));
    sum[0] = host[0];
}

/// As cuda_single_pass: one launch, whose last block writes the result into host memory.
/// @param launch `launch(stream, sums, done, result)`: launches `blocks` blocks of a kernel with a place for the sum of
///        each, the ticket, and the result
/// @return the result
template <class T, class Launch> T sum_in_one_round(unsigned blocks, Stopwatch& watch, const Launch& launch) {
    gpulab::DeviceBuffer<T> sums(blocks);
    gpulab::DeviceBuffer<unsigned> done(1);
    done.copy_from(std::vector<unsigned>{0});
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    T* const result = host.on_device();
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { launch(stream, sums.data(), done.data(), result); },
        gpulab::poisoning(sums, host));
    return host[0];
}

} // namespace reduction
