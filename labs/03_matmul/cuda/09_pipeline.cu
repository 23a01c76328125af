// Rung 9: a pipeline. The next data is loaded while the arithmetic runs.
//
// Changed: a thread issues each load some time before it needs the number, and computes in between.
// - From global to shared memory: the copies are asynchronous (cp.async, compute capability 8.0) and pass through no
//   register. There is room for three pairs of tiles: while one is multiplied, the next two are on their way. One
//   barrier per tile is enough, because no thread writes to a tile that is being read.
// - From shared memory to registers: the numbers of the next step are loaded while those of this step are multiplied,
//   even across the barrier.
// - An asynchronous copy cannot transpose, but a copy of a single number can go to any address. A's tile is transposed
//   by its addresses. The 32 copies of a warp go to 16 banks, two to each. The pitch is the distance from row to row
//   of the tile; a pitch without these conflicts would not be a multiple of 16 bytes, which the loads need.
// The next two rungs launch a kernel of this kind with other sizes, so this rung already has what they rely on:
// - Tiles are 16 deep, so there are half as many barriers. A warp computes 64 x 32 elements of C instead of 16 x 128:
//   it reads 96 numbers from shared memory for 2048 products, not 144.
// - A thread adds its products along a row of its sums and back along the next. The operand at the turn is used twice
//   in succession, so the hardware need not read the register again.
// - Blocks are numbered in bands eight tiles high: blocks that run at the same time then form a square of C, and share
//   more rows of A and columns of B in the L2, the cache of the whole device. That helps large matrices only. An H200
//   holds 264 blocks at a time. At n = 8192 they read 8 + 33 strips of A and B instead of 5 + 64; at n = 4096, 16 + 32
//   instead of 9 + 32, which is no gain.
// The block still computes 128 x 128 elements with 256 threads, 8 x 8 for each.
// Limit: instructions other than multiply-adds: four 16-byte loads from shared memory for 64 multiply-adds, and the
// instructions that start the copies.
#include <cstddef>

#include "async_copy.cuh"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "matmul.hpp"

namespace matmul {

namespace {

constexpr int rows = 128, columns = 128;         // of C that a block computes
constexpr int depth = 16;                        // columns of A and rows of B in a tile
constexpr int warp_rows = 64, warp_columns = 32; // of C that a warp computes
constexpr int lane_rows = 8, lane_columns = 4;   // how the lanes of a warp are arranged
constexpr int stages = 3;                        // pairs of tiles for which there is room
constexpr int threads = (rows / warp_rows) * (columns / warp_columns) * 32;
constexpr int thread_rows = warp_rows / lane_rows, thread_columns = warp_columns / lane_columns;
constexpr int pitch = rows + 4; // of A's transposed tile: depth x pitch
constexpr int band_height = 8;  // tiles from top to bottom before the next column of tiles
constexpr int stage_floats = depth * (pitch + columns);
constexpr std::size_t shared_bytes = sizeof(float) * stages * stage_floats;

} // namespace

/// One tile of C per block; any shape.
///
/// Blocks are numbered down a column of `band_height` tiles, then down the next column: those that run at the same time
/// form a square of C rather than a strip, and share more rows of A and columns of B in the L2.
///
/// @tparam vector whether 4 divides n, so that rows of B and C can be moved in 16-byte pieces
template <bool vector>
__global__ void __launch_bounds__(threads, 2) pipeline_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                                              float* __restrict__ c, int m, int k, int n) {
    extern __shared__ __align__(16) float tiles_of[];

    // Which tile of C.
    const int tile_rows = (m + rows - 1) / rows, tile_columns = (n + columns - 1) / columns;
    const int band = blockIdx.x / (band_height * tile_columns), within = blockIdx.x - band * band_height * tile_columns;
    const int height = min(band_height, tile_rows - band * band_height); // the last band may be lower
    const int row = (band * band_height + within % height) * rows, column = within / height * columns;

    // This thread's place in it: by its warp, then by its lane.
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int warps_across = columns / warp_columns;
    const int y = warp / warps_across * warp_rows + lane / lane_columns * 4;
    const int x = warp % warps_across * warp_columns + lane % lane_columns * 4;

    // What it copies: column a_l of every a_step-th row of A's tile, four columns of every b_step-th row of B's.
    constexpr int a_step = threads / depth, b_step = threads / (columns / 4);
    const int a_l = t % depth, a_i = t / depth;
    const int b_l = t / (columns / 4), b_j = t % (columns / 4) * 4;
    const int rows_left = m - row - a_i; // from the first one it copies
    const float* const a_from = a + std::size_t(row + a_i) * k + a_l;
    const float* const b_from = b + std::size_t(b_l) * n + column + b_j;
    const auto start = [&](int stage, int l0) {
        float* const a_tile = tiles_of + stage * stage_floats;
        float* const b_tile = a_tile + depth * pitch;
#pragma unroll
        for (int i = 0; i < rows; i += a_step)
            copy4_async(&a_tile[a_l * pitch + a_i + i], a_from + l0 + std::size_t(i) * k,
                        l0 + a_l < k && i < rows_left);
#pragma unroll
        for (int l = 0; l < depth; l += b_step) {
            float* const to = &b_tile[(b_l + l) * columns + b_j];
            const float* const from = b_from + std::size_t(l0 + l) * n;
            const bool inside = l0 + b_l + l < k;
            if constexpr (vector) copy16_async(to, from, inside && column + b_j < n);
            else
#pragma unroll
                for (int j = 0; j < 4; ++j) copy4_async(to + j, from + j, inside && column + b_j + j < n);
        }
    };

    // A fragment is what a thread needs from both tiles for one step. There are two: while the products of one are
    // summed, the other is loaded from shared memory.
    float sum[thread_rows][thread_columns] = {};
    alignas(16) float left[2][thread_rows], right[2][thread_columns]; // loaded as float4
    const auto load = [&](int turn, int stage, int l) {
        const float* const a_tile = tiles_of + stage * stage_floats;
        const float* const b_tile = a_tile + depth * pitch;
#pragma unroll
        for (int i = 0; i < thread_rows; i += 4)
            *reinterpret_cast<float4*>(&left[turn][i]) =
                *reinterpret_cast<const float4*>(&a_tile[l * pitch + y + i * lane_rows]);
#pragma unroll
        for (int j = 0; j < thread_columns; j += 4)
            *reinterpret_cast<float4*>(&right[turn][j]) =
                *reinterpret_cast<const float4*>(&b_tile[l * columns + x + j * lane_columns]);
    };

    const int tiles = (k + depth - 1) / depth;
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) {
        if (s < tiles) start(s, s * depth);
        commit_copies(); // also when there is nothing: the count of groups must agree
    }
    wait_for_copies<stages - 2>();
    __syncthreads();
    int reading = 0, writing = stages - 1;
    if (tiles > 0) load(0, reading, 0);
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int l = 0; l < depth; ++l) {
            if (l == depth - 1) {              // the next fragment is the first of the next tile
                wait_for_copies<stages - 2>(); // this thread's share of it has arrived
                __syncthreads();               // all shares have; no thread reads the present tile any more
                reading = reading + 1 == stages ? 0 : reading + 1;
            }
            load((l + 1) % 2, reading, (l + 1) % depth); // after the last tile: old numbers, never used
            if (l == 0) {
                const int ahead = tile + stages - 1;
                if (ahead < tiles) start(writing, ahead * depth);
                commit_copies();
                writing = writing + 1 == stages ? 0 : writing + 1;
            }
            // Along a row and back along the next: the operand at the turn is used twice in succession.
#pragma unroll
            for (int i = 0; i < thread_rows; ++i)
#pragma unroll
                for (int step = 0; step < thread_columns; ++step) {
                    const int j = i % 2 ? thread_columns - 1 - step : step;
                    sum[i][j] += left[l % 2][i] * right[l % 2][j];
                }
        }
    }

#pragma unroll
    for (int i = 0; i < thread_rows; ++i) {
        const int r = row + y + i / 4 * 4 * lane_rows + i % 4;
        if (r >= m) continue;
#pragma unroll
        for (int j = 0; j < thread_columns; j += 4) {
            const int s = column + x + j * lane_columns;
            float* const to = c + std::size_t(r) * n + s;
            if (vector && s < n)
                *reinterpret_cast<float4*>(to) = {sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]};
            if (!vector)
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    if (s + e < n) to[e] = sum[i][j + e];
        }
    }
}

void cuda_pipeline(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const auto kernel = p.n % 4 == 0 ? pipeline_kernel<true> : pipeline_kernel<false>;
    int device = 0, most = 0; // shared memory that a block can have
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (static_cast<std::size_t>(most) < shared_bytes)
        throw gpulab::Unsupported("needs 49 KiB of shared memory per block");
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));

    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    const auto blocks = static_cast<unsigned>(gpulab::ceil_div(p.m, rows) * gpulab::ceil_div(p.n, columns));
    watch.tile(rows, "m"), watch.tile(band_height * rows, "m");
    watch.tile(depth, "k"), watch.tile(stages * depth, "k");
    watch.tile(columns, "n"), watch.tile(4, "n");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (p.size() == 0) return;
            kernel<<<blocks, threads, shared_bytes, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
        },
        gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace matmul
