/// @file
/// What the histograms whose groups have counts of their own have in common.
#pragma once

#include "histogram.hpp"
#include "launch.hpp"

namespace reduction {

/// Elements that an item counts at least, unless there are too few: a group that counted one for each item would add as
/// many counts to `counts` as it has elements.
constexpr unsigned per_item = 16;

/// Sets the counts to zero and launches a kernel with the parameters of histogram_private.cl.
template <class T>
void count_in_groups(const char* source, const char* name, const HistogramProblem<T>& p, Counts& counts,
                     Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a);
    gpulab::ClBuffer<std::uint32_t> result(p.bins);
    const Counts zeros(p.bins);
    cl::Kernel kernel = kernel_for<T>(source, name);
    gpulab::set_args(kernel, a.data(), cl_ulong{p.size()}, cl_uint{p.bins}, result.data());
    const std::size_t groups =
        std::min<std::size_t>(gpulab::grid_size(p.size(), local_size() * per_item), max_groups());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueWriteBuffer(result.data(), CL_FALSE, 0, result.bytes(), zeros.data(), nullptr, events.add());
        gpulab::enqueue(queue, kernel, groups * local_size(), local_size(), events.add());
    };
    watch.tile(groups * local_size());
    gpulab::watch_queue(watch, launch, gpulab::poisoning(result));
    result.copy_to(counts);
}

} // namespace reduction
