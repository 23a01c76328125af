// The series on an OpenCL device: opencl_multi_stage whose elements are made instead of read.
// (Alfaro Vigo & Rossetto, exercises 1.3 and 1.4)
#include "series.hpp"

#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "launch.hpp"
#include "series.cl.hpp"

namespace reduction {

template <class T> void opencl_series(const SeriesProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const std::size_t groups = group_count(p.terms);
    gpulab::ClBuffer<T> sums(groups);
    std::vector<T> host(groups);

    cl::Kernel kernel = kernel_for<T>(series_cl, "series");
    const cl_ulong terms = p.terms;
    gpulab::set_args(kernel, cl_int{p.series == Series::pi}, p.x, terms, cl::Local(local_size * sizeof(T)),
                     sums.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * local_size), cl::NDRange(local_size),
                                   nullptr, events.add());
        queue.enqueueReadBuffer(sums.data(), CL_FALSE, 0, groups * sizeof(T), host.data(), nullptr, events.add());
    };
    watch.tile(local_size, "terms");
    watch.tile(most_groups() * local_size, "terms");
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums));

    sums.copy_to(host);
    double total = 0;
    for (const T x : host) total += x;
    sum[0] = static_cast<T>(total);
}

template SeriesRun<float> opencl_series<float>;
template SeriesRun<double> opencl_series<double>;

} // namespace reduction
