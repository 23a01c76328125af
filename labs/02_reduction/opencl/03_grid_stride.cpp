// Rung 3: each item first adds up many elements of its own: OpenCL's counterpart of cuda_grid_stride.
//
// Changed: the number of groups. Eight per compute unit keep the device busy, whatever n is; an item strides over the
// array and keeps its sum in a register, where an addition costs no barrier. Only then comes the tree of rung 2, once
// per group instead of once per 256 elements. A second launch, of one group, adds up the few sums that are left.
// Limit: 4-byte loads, and each item waits for one before it adds; for a small n the second launch.
#include "03_grid_stride.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void opencl_grid_stride(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a);
    const std::size_t groups = group_count(p.size());
    gpulab::ClBuffer<T> sums(groups), result(1);
    std::vector<T> host(1);

    // A kernel object keeps its arguments, so each launch has its own.
    cl::Kernel first = kernel_for<T>(grid_stride_cl, "grid_stride"),
               second = kernel_for<T>(grid_stride_cl, "grid_stride");
    const cl_ulong n = p.size(), left = groups;
    const cl::LocalSpaceArg x = cl::Local(local_size() * sizeof(T));
    gpulab::set_args(first, a.data(), n, x, sums.data());
    gpulab::set_args(second, sums.data(), left, x, result.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        gpulab::enqueue(queue, first, groups * local_size(), local_size(), events.add());
        gpulab::enqueue(queue, second, local_size(), local_size(), events.add());
        queue.enqueueReadBuffer(result.data(), CL_FALSE, 0, sizeof(T), host.data(), nullptr, events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums, result));

    result.copy_to(sum);
}

template SumRun<float> opencl_grid_stride<float>;
template SumRun<double> opencl_grid_stride<double>;

} // namespace reduction
