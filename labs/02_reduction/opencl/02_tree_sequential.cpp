// Rung 2: the same tree with the working items side by side: OpenCL's counterpart of cuda_tree_sequential.
//
// Changed: which items work. Item i < s adds the element s places after its own, s = 128, 64, ..., 1 (sequential
// addressing). The items that work are the first s, so on a GPU whole warps become idle.
// Limit: one element per item, and a tree for every 256.
#include "02_tree_sequential.cl.hpp"
#include "launch.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void opencl_tree_sequential(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    watch.tile(local_size() * local_size());                             // of the second round
    sum_in_rounds(tree_sequential_cl, "tree_sequential", p, sum, watch); // the host half of rung 1
}

template SumRun<float> opencl_tree_sequential<float>;
template SumRun<double> opencl_tree_sequential<double>;

} // namespace reduction
