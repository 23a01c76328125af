// The dot product by multi-stage reduction: what the kernel of the thesis computes. (Bueno, section 4.2.1)
//
// As opencl_multi_stage, with products for elements. The host adds up the groups' sums; the time ends when it has them.
#include "dot.hpp"

#include "dot.cl.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "launch.hpp"

namespace reduction {

template <class T> void opencl_dot(const DotProblem<T>& p, Scalar<T>& dot, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a), b(p.b);
    const std::size_t groups = group_count(p.size());
    gpulab::ClBuffer<T> sums(groups);
    std::vector<T> host(groups);

    cl::Kernel kernel = kernel_for<T>(dot_cl, "dot_product");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, a.data(), b.data(), n, cl::Local(local_size * sizeof(T)), sums.data());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * local_size), cl::NDRange(local_size),
                                   nullptr, events.add());
        queue.enqueueReadBuffer(sums.data(), CL_FALSE, 0, groups * sizeof(T), host.data(), nullptr, events.add());
    };
    watch.tile(local_size);
    watch.tile(most_groups() * local_size);
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums));

    sums.copy_to(host);
    double total = 0;
    for (const T x : host) total += x;
    dot[0] = static_cast<T>(total);
}

template DotRun<float> opencl_dot<float>;
template DotRun<double> opencl_dot<double>;

} // namespace reduction
