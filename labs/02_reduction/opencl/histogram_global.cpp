// Histogram, rung 1: a work-item per element.
//
// Many items change the same number at the same time, so each addition is atomic; an OpenCL 1.2 device has atomic
// additions of whole numbers only.
// Limit: items that count in one bin wait for each other, and every count goes to global memory.
#include "histogram.hpp"
#include "histogram_global.cl.hpp"
#include "launch.hpp"

namespace reduction {

template <class T> void opencl_histogram_global(const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a);
    gpulab::ClBuffer<std::uint32_t> result(p.bins);
    const Counts zeros(p.bins);
    cl::Kernel kernel = kernel_for<T>(histogram_global_cl, "histogram_global");
    gpulab::set_args(kernel, a.data(), cl_ulong{p.size()}, result.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueWriteBuffer(result.data(), CL_FALSE, 0, result.bytes(), zeros.data(), nullptr, events.add());
        gpulab::enqueue(queue, kernel, gpulab::global_size(p.size(), local_size()), local_size(), events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(result));
    result.copy_to(counts);
}

template HistogramRun<float> opencl_histogram_global<float>;
template HistogramRun<double> opencl_histogram_global<double>;

} // namespace reduction
