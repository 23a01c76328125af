// Rung 5: 16-byte loads and independent accumulators, OpenCL's counterpart of cuda_vectorised.
//
// Changed: more bytes in flight. A work-item requests four 16-byte vectors before it adds the first, so that each
// item has 64 bytes in flight instead of 4. Each vector has an accumulator of its own, so that no addition waits
// for the one before. On a CPU a float4 is one SIMD register. The host half is that of rung 3, with two launches.
// Limit: memory; for a small n the second launch.
#include "05_vectorised.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void opencl_vectorised(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a);
    constexpr std::size_t width = 16 / sizeof(T); // elements of a vector
    const std::size_t groups = group_count(p.size() / width);
    gpulab::ClBuffer<T> sums(groups), result(1);
    std::vector<T> host(1);

    // A kernel object keeps its arguments, so each launch has its own.
    cl::Kernel first = kernel_for<T>(vectorised_cl, "vectorised"), second = kernel_for<T>(vectorised_cl, "vectorised");
    const cl_ulong n = p.size(), left = groups;
    const cl::LocalSpaceArg x = cl::Local(local_size() * sizeof(T));
    gpulab::set_args(first, a.data(), n, x, sums.data());
    gpulab::set_args(second, sums.data(), left, x, result.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        gpulab::enqueue(queue, first, groups * local_size(), local_size(), events.add());
        gpulab::enqueue(queue, second, local_size(), local_size(), events.add());
        queue.enqueueReadBuffer(result.data(), CL_FALSE, 0, sizeof(T), host.data(), nullptr, events.add());
    };
    const std::size_t grid = max_groups() * local_size() * width;
    watch.tile(local_size() * width);
    watch.tile(grid);
    watch.tile(4 * grid); // four loads at a time
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums, result));

    result.copy_to(sum);
}

template SumRun<float> opencl_vectorised<float>;
template SumRun<double> opencl_vectorised<double>;

} // namespace reduction
