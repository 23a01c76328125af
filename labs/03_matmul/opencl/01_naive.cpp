// Rung 1: one work-item per element of C, OpenCL's counterpart of cuda_grid.
//
// Dimension 0, the one in which neighbouring work-items are neighbours in hardware, runs along the columns.
// Limit: for every multiply-add two numbers are loaded. A row of A serves n work-items and a column of B m of them,
// and each loads it anew.
#include "01_naive.cl.hpp"
#include "launch.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void opencl_naive(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    opencl_multiply(naive_cl, {"", 16, 16, 1, 16, 16}, p, c, watch);
}

template void opencl_naive(const Problem<float>&, Output<float>&, Stopwatch&);
template void opencl_naive(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace matmul
