// Rung 3: 8 x 8 elements per work-item, OpenCL's counterpart of cuda_register_2d and cuda_vector_loads.
//
// Changed: a work-item takes 8 numbers of A's tile and 8 of B's and makes 64 products of them: four multiply-adds for
// each number loaded, instead of half a multiply-add. The sums are vectors of eight, which on a CPU are one or two
// SIMD registers. Loads are vectors of eight too; for that, A's tile is stored transposed. Both changes come together
// because the vector type is what gives OpenCL the register tile.
// Limit: on a CPU, the sums of all 64 work-items of a group go to memory and back at each barrier. On a GPU, nothing
// overlaps the loads from global memory: the work-items wait for every tile.
#include "03_register_tile.cl.hpp"
#include "launch.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void opencl_register_tile(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const bool whole_lines = p.k % 8 == 0 && p.n % 8 == 0;
    opencl_multiply(register_tile_cl, {whole_lines ? "-DWHOLE_LINES" : "", 64, 64, 16, 8, 8}, p, c, watch);
}

INSTANTIATE_RUNG(opencl_register_tile);

} // namespace matmul
