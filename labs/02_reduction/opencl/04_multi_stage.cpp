// Rung 4: the host adds up the groups' sums. (Bueno, section 4.2.1: multi-stage reduction)
//
// Changed: the kernel of rung 3 is launched once. One partial sum per group goes to the host, which adds up these few
// in double. The time ends when the partial sums are on the host; its few hundred additions are not counted.
// Limit: 4-byte loads as in rung 3, and the host's part, which grows with the number of groups.
#include "04_multi_stage.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void opencl_multi_stage(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a); // allocate, copy in
    const std::size_t groups = group_count(p.size());
    gpulab::ClBuffer<T> sums(groups);
    std::vector<T> host(groups);

    cl::Kernel kernel = kernel_for<T>(multi_stage_cl, "multi_stage");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, a.data(), n, cl::Local(local_size() * sizeof(T)), sums.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        gpulab::enqueue(queue, kernel, groups * local_size(), local_size(), events.add());
        queue.enqueueReadBuffer(sums.data(), CL_FALSE, 0, groups * sizeof(T), host.data(), nullptr, events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums));

    sums.copy_to(host); // the same numbers again
    double total = 0;
    for (const T x : host) total += x;
    sum[0] = static_cast<T>(total);
}

template SumRun<float> opencl_multi_stage<float>;
template SumRun<double> opencl_multi_stage<double>;

} // namespace reduction
