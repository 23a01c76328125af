// Rung 7: the group's sum by a function of OpenCL C 2.0.
//
// Changed: the tree. work_group_reduce_add() adds up a number of each item and gives the sum to all of them: no local
// memory, no barrier and no halving group size in the kernel, and the compiler chooses the steps that suit the device.
// It came with OpenCL 2.0 and is optional in 3.0: see the lesson "OpenCL 2 and 3".
// Limit: 4-byte loads as in rung 4, whose host half it has.
#include "07_work_group_reduce.cl.hpp"
#include "features.hpp"

namespace reduction {

template <class T> void opencl_work_group_reduce(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    cl::Kernel kernel =
        kernel_with<T>("__opencl_c_work_group_collective_functions", work_group_reduce_cl, "work_group_reduce");
    const gpulab::ClBuffer<T> a(p.a);
    gpulab::ClBuffer<T> sums(group_count(p.size()));
    gpulab::set_args(kernel, a.data(), cl_ulong{p.size()}, sums.data());
    sum[0] = sum_of_groups(kernel, sums, watch);
}

template SumRun<float> opencl_work_group_reduce<float>;
template SumRun<double> opencl_work_group_reduce<double>;

} // namespace reduction
