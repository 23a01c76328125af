// Study transfers: opencl_dot, timed with the copies of both vectors. (Alfaro Vigo & Rossetto, exercise 2.2)
#include <numeric>

#include "dot.cl.hpp"
#include "launch.hpp"
#include "transfers.hpp"

namespace reduction {

template <class T> void opencl_copies_and_dot(const DotProblem<T>& p, Scalar<T>& dot, Stopwatch& watch) {
    const std::size_t groups = group_count(p.size());
    gpulab::ClBuffer<T> a(p.size()), b(p.size()), sums(groups); // allocated before the time starts
    cl::Kernel kernel = kernel_for<T>(dot_cl, "dot_product");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, a.data(), b.data(), n, cl::Local(local_size() * sizeof(T)), sums.data());
    std::vector<T> host(groups);
    const auto launch = [&](const cl::CommandQueue& queue,
                            gpulab::ClEvents& events) { // the commands of a queue run in this order
        queue.enqueueWriteBuffer(a.data(), CL_FALSE, 0, a.bytes(), p.a.data(), nullptr, events.add());
        queue.enqueueWriteBuffer(b.data(), CL_FALSE, 0, b.bytes(), p.b.data(), nullptr, events.add());
        gpulab::enqueue(queue, kernel, groups * local_size(), local_size(), events.add());
        queue.enqueueReadBuffer(sums.data(), CL_FALSE, 0, sums.bytes(), host.data(), nullptr, events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(a, b, sums));
    sums.copy_to(host); // the same numbers again, and a check of the guard bands
    dot[0] = static_cast<T>(std::accumulate(host.begin(), host.end(), 0.0));
}

template DotRun<float> opencl_copies_and_dot<float>;
template DotRun<double> opencl_copies_and_dot<double>;

} // namespace reduction
