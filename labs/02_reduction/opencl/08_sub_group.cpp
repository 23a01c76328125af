// Rung 8: sums within sub-groups: OpenCL's counterpart of cuda_shuffle.
//
// Changed: the tree, in two steps. A sub-group is what CUDA calls a warp: items that the device runs together. They add
// up their numbers without a barrier; one number per sub-group goes through local memory, and the sub-groups add these
// up in the same way. A warp has 32 threads; how many items a sub-group has, the device decides, so the kernel asks.
// Sub-groups came with OpenCL 2.0 as an extension and are optional in 3.0: see the lesson "OpenCL 2 and 3".
// Limit: 4-byte loads as in rung 4, whose host half it has.
#include "08_sub_group.cl.hpp"
#include "features.hpp"

namespace reduction {

template <class T> void opencl_sub_group(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    cl::Kernel kernel = kernel_with<T>("__opencl_c_subgroups", sub_group_cl, "sub_group");
    const gpulab::ClBuffer<T> a(p.a);
    gpulab::ClBuffer<T> sums(group_count(p.size()));
    gpulab::set_args(kernel, a.data(), cl_ulong{p.size()}, cl::Local(local_size() * sizeof(T)), sums.data());
    sum[0] = sum_of_groups(kernel, sums, watch);
}

template SumRun<float> opencl_sub_group<float>;
template SumRun<double> opencl_sub_group<double>;

} // namespace reduction
