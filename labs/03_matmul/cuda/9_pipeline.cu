// Rung 9: asynchronous copies, three tiles in flight.
//
// Changed: the copies from global to shared memory pass no register (cp.async, compute capability 8.0). There is room
// for three pairs of tiles: while one is multiplied, the next two are on their way, which covers the latency of global
// memory; and one barrier per tile is enough, for nobody writes to the tiles being read.
// An asynchronous copy cannot transpose, but a copy of a single float can go anywhere: A's tile is transposed by the
// addresses. Eight neighbours of a row of A (one 32-byte sector) go to eight rows of the tile, each in its own bank.
// Limit: each warp reads two rows of threads of A's tile and sixteen columns of B's, 20 numbers for every 16
// multiply-adds of a lane; and all blocks walk along a row of C, so that the L2 sees B anew for each.
#include "async_copy.cuh"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "grid.cuh"
#include "matmul.hpp"

namespace matmul {

namespace {

constexpr int side = 128; // of the square of C that a block computes
constexpr int depth = 8;  // columns of A and rows of B in a tile
constexpr int stages = 3; // pairs of tiles
constexpr int each = 8;   // rows and columns per thread
constexpr int half = side / 2;
constexpr int threads = (side / each) * (side / each);
constexpr int pitch = side + 4; // of A's transposed tile

} // namespace

/// Any shape. @tparam vector whether 4 divides n, so that rows of B and C can be moved in 16-byte pieces
template <bool vector>
__global__ void __launch_bounds__(threads, 2) pipeline_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                                              float* __restrict__ c, int m, int k, int n) {
    __shared__ __align__(16) float a_tile[stages][depth][pitch];
    __shared__ __align__(16) float b_tile[stages][depth][side];
    const int t = threadIdx.x;
    const int row = blockIdx.y * side, column = blockIdx.x * side;
    const int x = t % 16 * 4, y = t / 16 * 4;

    // Starts the copies of the tiles from column (row) l0 of A (B) on. Beyond the edges they become 0.
    const auto start = [&](int stage, int l0) {
#pragma unroll
        for (int e = t; e < side * depth; e += threads) {
            const int i = e / depth, l = e % depth;
            copy4_async(&a_tile[stage][l][i], a + std::size_t(row + i) * k + l0 + l, row + i < m && l0 + l < k);
        }
        if constexpr (vector) {
            const int l = t / (side / 4), j = t % (side / 4) * 4;
            copy16_async(&b_tile[stage][l][j], b + std::size_t(l0 + l) * n + column + j, l0 + l < k && column + j < n);
        } else {
#pragma unroll
            for (int e = t; e < side * depth; e += threads) {
                const int l = e / side, j = e % side;
                copy4_async(&b_tile[stage][l][j], b + std::size_t(l0 + l) * n + column + j,
                            l0 + l < k && column + j < n);
            }
        }
    };

    const int tiles = (k + depth - 1) / depth;
    for (int s = 0; s < stages - 1; ++s) {
        if (s < tiles) start(s, s * depth);
        commit_copies(); // also when there is nothing: the count of groups must agree
    }

    float sum[each][each] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        wait_for_copies<stages - 2>(); // this thread's share of the tile has arrived
        __syncthreads();               // everybody's has; and nobody reads the tile before this one any more
        const int ahead = tile + stages - 1;
        if (ahead < tiles) start(ahead % stages, ahead * depth);
        commit_copies();

        const auto& a_now = a_tile[tile % stages];
        const auto& b_now = b_tile[tile % stages];
#pragma unroll
        for (int l = 0; l < depth; ++l) {
            float left[each], right[each];
            *reinterpret_cast<float4*>(&left[0]) = *reinterpret_cast<const float4*>(&a_now[l][y]);
            *reinterpret_cast<float4*>(&left[4]) = *reinterpret_cast<const float4*>(&a_now[l][half + y]);
            *reinterpret_cast<float4*>(&right[0]) = *reinterpret_cast<const float4*>(&b_now[l][x]);
            *reinterpret_cast<float4*>(&right[4]) = *reinterpret_cast<const float4*>(&b_now[l][half + x]);
#pragma unroll
            for (int i = 0; i < each; ++i)
#pragma unroll
                for (int j = 0; j < each; ++j) sum[i][j] += left[i] * right[j];
        }
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
        const int r = row + i / 4 * half + y + i % 4;
        if (r >= m) continue;
#pragma unroll
        for (int j = 0; j < each; j += 4) {
            const int s = column + j / 4 * half + x;
            float* const to = c + std::size_t(r) * n + s;
            if (vector && s < n) *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(&sum[i][j]);
            if (!vector)
                for (int e = 0; e < 4; ++e)
                    if (s + e < n) to[e] = sum[i][j + e];
        }
    }
}

void cuda_pipeline(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    const auto kernel = p.n % 4 == 0 ? pipeline_kernel<true> : pipeline_kernel<false>;
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 blocks = tile_grid(p.n, side, p.m, side);
        kernel<<<blocks, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    });
    out.copy_to(c);
}

} // namespace matmul
