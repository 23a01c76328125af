// The dot product by multi-stage reduction: what the kernel of the thesis computes. (Bueno, section 4.2.1)
//
// As opencl_multi_stage, with products as elements. The host adds up the groups' sums; the timing ends before that.
#include "dot.hpp"

#include "dot.cl.hpp"
#include "launch.hpp"

namespace reduction {

template <class T> void opencl_dot(const DotProblem<T>& p, Scalar<T>& dot, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a), b(p.b);
    const std::size_t groups = group_count(p.size());
    gpulab::ClBuffer<T> sums(groups);

    cl::Kernel kernel = kernel_for<T>(dot_cl, "dot_product");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, a.data(), b.data(), n, cl::Local(local_size() * sizeof(T)), sums.data());
    dot[0] = sum_of_groups(kernel, sums, watch); // the host half of opencl_multi_stage
}

template DotRun<float> opencl_dot<float>;
template DotRun<double> opencl_dot<double>;

} // namespace reduction
