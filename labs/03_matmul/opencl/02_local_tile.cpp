// Rung 2: tiles of A and B in local memory, OpenCL's counterpart of cuda_shared_static.
//
// Changed: a group of 16 x 16 work-items loads a 16 x 16 tile of A and one of B together. Each number that comes from
// global memory serves 16 work-items.
// Limit: local memory, which still delivers two numbers for each multiply-add. On a CPU local memory is ordinary
// memory, and the cache held these numbers anyway; there the rung only adds copies and barriers.
#include "02_local_tile.cl.hpp"
#include "gpulab/opencl/group.hpp"
#include "launch.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void opencl_local_tile(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const std::size_t tile = gpulab::group_size(16);
    opencl_multiply(local_tile_cl, {fmt::format("-DTILE={}", tile), tile, tile, tile, tile, tile}, p, c, watch);
}

INSTANTIATE_RUNG(opencl_local_tile);

} // namespace matmul
