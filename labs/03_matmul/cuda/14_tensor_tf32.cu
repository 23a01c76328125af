// Rung 14: tensor cores in TF32, with one operand in registers.
//
// TF32 is what the tensor cores read of a float: 11 significant bits; they ignore the other 13. So A and B need not be
// converted. But an operand of TF32 in shared memory must have k along its rows, and B has n.
// Changed: the roles of A and B are exchanged, as in C^T = B^T A^T. The right operand, A^T, comes from A's tile, whose
// rows run along k. The left one, B^T, comes from registers, which the threads load from B's tile in any order: nothing
// is transposed in memory. A block computes 256 x 128 elements of C, 128 x 256 of C^T, with a stage 32 deep; 64 x 128
// of C where such blocks are too few for the device. Lane 4 g + t of a warp has, of its 16 x 8 elements of B^T: (g, t),
// (g + 8, t), (g, t + 4), (g + 8, t + 4). Rows must begin at multiples of 16 bytes: where they do not, A and B are
// copied to such rows first.
// Limit: as for rung 13; a product takes twice as long in TF32 as in BF16.
#include <cstddef>

#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "matmul.hpp"
#include "studies.hpp"
#include "tensor.cuh"
#include "tensor_tile.cuh"

namespace matmul {

/// One tile of C per block.
template <class Tile>
__global__ void __launch_bounds__(Tile::threads, 1)
    tensor_tf32_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int m,
                       int k, int n) {
#if defined(MATMUL_WGMMA)
    extern __shared__ __align__(1024) unsigned char all_stages[];
    __shared__ Barrier full[Tile::stages], empty[Tile::stages];
    if (threadIdx.x == 0) {
        for (int s = 0; s < Tile::stages; ++s) {
            full[s].init(1);
            empty[s].init(2);
        }
        publish_to_units();
    }
    __syncthreads();
    const auto block = Tile::first_of_block(m, n);
    const int steps = (k + Tile::depth - 1) / Tile::depth, group = threadIdx.x / Tile::warpgroup;
    if (group == 0) {
        leave_registers<24>();
        if (threadIdx.x == 0) Tile::copy_all(all_stages, a, b, block, steps, full, empty);
        return;
    }
    take_registers<240>();
    float sum[Tile::sums] = {};
    for (int i = 0; i < steps; ++i) {
        const int s = i % Tile::stages;
        full[s].wait(i / Tile::stages);
        const unsigned char* const a_tile = all_stages + s * Tile::stage_bytes;
        unsigned left[Tile::depth / 8][4];
        Tile::load_left(left, a_tile + Tile::b_offset);
        begin_products();
#pragma unroll
        for (int l = 0; l < Tile::depth; l += 8) multiply_tf32(sum, left[l / 8], operand(a_tile + 4 * l));
        commit_products();
        wait_for_products<0>(sum); // they read `left`, which the next step overwrites, until they end
        if (threadIdx.x % Tile::warpgroup == 0) empty[s].arrive();
    }
    Tile::store(c, sum, block, m, n);
#endif
}

using LargeTile = TensorTile<256, 1>; // one copy of A's tile in a stage
using SmallTile = TensorTile<64, 1>;

void cuda_tensor_tf32_large(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply_on_tensor_cores<LargeTile>(tensor_tf32_kernel<LargeTile>, p, c, watch);
}

void cuda_tensor_tf32(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const std::size_t large = gpulab::ceil_div(p.m, LargeTile::rows) * gpulab::ceil_div(p.n, LargeTile::columns);
    if (2 * large <= gpulab::multiprocessor_count())
        multiply_on_tensor_cores<SmallTile>(tensor_tf32_kernel<SmallTile>, p, c, watch);
    else cuda_tensor_tf32_large(p, c, watch);
}

} // namespace matmul
