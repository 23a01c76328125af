// Rung 2: tiles of A and B in local memory, OpenCL's counterpart of cuda_shared_static.
//
// Changed: a group of 16 x 16 loads a 16 x 16 tile of A and one of B together, and each number serves 16 work-items.
// Limit: local memory, from which two numbers still come for every multiply-add. On a CPU local memory is ordinary
// memory in the cache, where the numbers were anyway: there the copying and the barriers are what is left to see.
#include "02_local_tile.cl.hpp"
#include "launch.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void opencl_local_tile(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    opencl_multiply(local_tile_cl, {"-DTILE=16", 16, 16, 16, 16, 16}, p, c, watch);
}

template void opencl_local_tile(const Problem<float>&, Output<float>&, Stopwatch&);
template void opencl_local_tile(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace matmul
