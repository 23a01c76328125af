// Rung 15: float precision from tensor cores, by three products.
//
// Changed: each element is cut in two. high = the 11 bits that fit into TF32, low = x - high, which is exact. Then
//     a b = a_high b_high + a_high b_low + a_low b_high + (a_low b_low),
// and the last, at most 2^-22 of a b, is left out. So is the last bit of low, at most 2^-23 of x: the error of a
// product is at most 2^-21, four times the epsilon of float. An infinity, or a number that rounds to one, makes every
// sum that it meets NaN: inf - inf is NaN.
// - B is cut in registers. A must be cut in shared memory, where the products read it: three warps of the first
//   warpgroup do nothing else. They write high over A's tile and low into a second tile. An element has the same place
//   in both, so they need not know how the copy permuted the pieces. A third barrier for each stage says that its A is
//   cut.
// - Tensor cores cut their sums off instead of rounding them: all errors of a sum point towards 0, and do not cancel.
//   So the sum over each 32 products begins with 0, and is added to sums in other registers by ordinary additions,
//   which round. These registers are why a block computes 176 x 128 elements, not 256 x 128.
// Limit: three times the products of cuda_tensor_tf32, and shared memory, from which each of them reads its part of A.
#include <cstddef>

#include "gpulab/cuda/timing.hpp"
#include "matmul.hpp"
#include "tensor.cuh"
#include "tensor_tile.cuh"

namespace matmul {

namespace {

using Tile = TensorTile<176, 2>; // a stage has A's high parts, then its low parts

#if defined(MATMUL_WGMMA)
/// The part of x that fits into TF32, rounded to the nearest: half of its last place is added, the rest cut off. Of NaN
/// a carry may make 0; x minus that is still NaN.
__device__ float high_part(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & 0xffffe000u); }
#endif

} // namespace

/// One tile of C per block.
__global__ void __launch_bounds__(Tile::threads, 1)
    three_tf32_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int m,
                      int k, int n) {
#if defined(MATMUL_WGMMA)
    constexpr int cutting = 96, pieces = Tile::a_bytes / 16; // threads that cut A; float4 in its tile
    extern __shared__ __align__(1024) unsigned char all_stages[];
    __shared__ Barrier full[Tile::stages], cut[Tile::stages], empty[Tile::stages];
    if (threadIdx.x == 0) {
        for (int s = 0; s < Tile::stages; ++s) {
            full[s].init(1);
            cut[s].init(cutting);
            empty[s].init(2);
        }
        publish_to_units();
    }
    __syncthreads();
    const auto block = Tile::first_of_block(m, n);
    const int steps = (k + Tile::depth - 1) / Tile::depth, group = threadIdx.x / Tile::warpgroup;
    if (group == 0) {
        leave_registers<40>();
        if (threadIdx.x == cutting) Tile::copy_all(all_stages, a, b, block, steps, full, empty);
        if (threadIdx.x >= cutting) return;
        for (int i = 0; i < steps; ++i) {
            const int s = i % Tile::stages;
            full[s].wait(i / Tile::stages);
            float4* const high = reinterpret_cast<float4*>(all_stages + s * Tile::stage_bytes);
            float4* const low = high + pieces;
#pragma unroll 4
            for (int e = threadIdx.x; e < pieces; e += cutting) {
                const float4 x = high[e];
                const float4 h = {high_part(x.x), high_part(x.y), high_part(x.z), high_part(x.w)};
                high[e] = h;
                low[e] = {x.x - h.x, x.y - h.y, x.z - h.z, x.w - h.w};
            }
            publish_to_units();
            cut[s].arrive();
        }
        return;
    }
    take_registers<232>();
    float sum[Tile::sums] = {}, of_step[Tile::sums] = {};
    for (int i = 0; i < steps; ++i) {
        const int s = i % Tile::stages;
        full[s].wait(i / Tile::stages);
        const unsigned char* const a_high = all_stages + s * Tile::stage_bytes;
        const unsigned char* const a_low = a_high + Tile::a_bytes;
        unsigned high[Tile::depth / 8][4], low[Tile::depth / 8][4];
        Tile::load_left(high, a_high + Tile::b_offset);
#pragma unroll
        for (int l = 0; l < Tile::depth / 8; ++l)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const float x = __uint_as_float(high[l][e]), h = high_part(x);
                high[l][e] = __float_as_uint(h);
                low[l][e] = __float_as_uint(x - h);
            }
        cut[s].wait(i / Tile::stages);
        begin_products();
#pragma unroll
        for (int l = 0; l < Tile::depth / 8; ++l) { // the small products first, while the sum is small
            multiply_tf32(of_step, low[l], operand(a_high + 32 * l), l > 0);
            multiply_tf32(of_step, high[l], operand(a_low + 32 * l), 1);
            multiply_tf32(of_step, high[l], operand(a_high + 32 * l), 1);
        }
        commit_products();
        wait_for_products<0>(of_step);
        if (threadIdx.x % Tile::warpgroup == 0) empty[s].arrive();
#pragma unroll
        for (int e = 0; e < Tile::sums; ++e) sum[e] += of_step[e];
    }
    Tile::store(c, sum, block, m, n);
#endif
}

void cuda_three_tf32(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply_on_tensor_cores<Tile>(three_tf32_kernel, p, c, watch);
}

} // namespace matmul
