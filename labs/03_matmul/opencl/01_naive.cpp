// Rung 1: one work-item per element of C, OpenCL's counterpart of cuda_grid.
//
// Work-items that are neighbours in dimension 0 run side by side in hardware; this dimension runs along the columns.
// Limit: two loads for each multiply-add. n work-items use the same row of A and m use the same column of B, and each
// loads it again.
#include "01_naive.cl.hpp"
#include "launch.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void opencl_naive(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    opencl_multiply(naive_cl, {"", 16, 16, 1, 16, 16}, p, c, watch);
}

INSTANTIATE_RUNG(opencl_naive);

} // namespace matmul
