// Rung 2: the partial sums are added on the device too.
//
// Changed: a second launch, of one group, adds up the groups' sums, so that a single number comes back. In OpenCL 1.2
// nothing but the end of a kernel makes all groups wait for each other.
// Limit: 4-byte loads; for a small n the second launch costs more than adding up a few numbers on the host.
#include "02_two_stage.cl.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "launch.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void opencl_two_stage(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a);
    const std::size_t groups = group_count(p.size());
    gpulab::ClBuffer<T> sums(groups), result(1);
    std::vector<T> host(1);

    // A kernel object keeps its arguments, so each stage has its own.
    cl::Kernel first = kernel_for<T>(two_stage_cl, "two_stage"), second = kernel_for<T>(two_stage_cl, "two_stage");
    const cl_ulong n = p.size(), left = groups;
    const cl::LocalSpaceArg x = cl::Local(local_size * sizeof(T));
    gpulab::set_args(first, a.data(), n, x, sums.data());
    gpulab::set_args(second, sums.data(), left, x, result.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(first, cl::NullRange, cl::NDRange(groups * local_size), cl::NDRange(local_size),
                                   nullptr, events.add());
        queue.enqueueNDRangeKernel(second, cl::NullRange, cl::NDRange(local_size), cl::NDRange(local_size), nullptr,
                                   events.add());
        queue.enqueueReadBuffer(result.data(), CL_FALSE, 0, sizeof(T), host.data(), nullptr, events.add());
    };
    watch.tile(local_size);
    watch.tile(most_groups() * local_size);
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums, result));

    result.copy_to(sum);
}

template SumRun<float> opencl_two_stage<float>;
template SumRun<double> opencl_two_stage<double>;

} // namespace reduction
