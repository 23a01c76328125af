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

#include "gpulab/cuda/async_copy.cuh"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
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

/// An element of C.
struct Element {
    int row, column;
};

/// The first element that a block computes. Blocks are numbered down a column of `band_height` tiles, then down the
/// next column: those that run at the same time form a square of C rather than a strip. With bands of three tiles:
///
///     0  3  6  9
///     1  4  7 10
///     2  5  8 11
///     12 14 16 18
///     13 15 17 19     the last band may be lower
__device__ __forceinline__ Element first_of_block(int m, int n) {
    const int tile_rows = (m + rows - 1) / rows, tile_columns = (n + columns - 1) / columns;
    const int band = blockIdx.x / (band_height * tile_columns), within = blockIdx.x - band * band_height * tile_columns;
    const int height = min(band_height, tile_rows - band * band_height);
    return {(band * band_height + within % height) * rows, within / height * columns};
}

/// The first element of a thread within the block's tile.
///
///     the tile of a block:            the tile of a warp: the lane that has each 4 x 4 elements
///
///         32  32  32  32                 4   4   4   4   4   4   4   4
///        +---+---+---+---+             +---------------+---------------+
///     64 | 0 | 1 | 2 | 3 |           4 | 0   1   2   3 | 0   1   2   3 |
///        +---+---+---+---+           4 | 4   5   6   7 | 4   5   6   7 |
///     64 | 4 | 5 | 6 | 7 |             |      ...      |      ...      |
///        +---+---+---+---+           4 | 28  29  30  31| 28  29  30  31|
///                                      +---------------+---------------+
///                                    4 | 0   1   2   3 | 0   1   2   3 |
///                                      |      ...      |      ...      |
///                                    4 | 28  29  30  31| 28  29  30  31|
///                                      +---------------+---------------+
///
/// A lane reads its rows and columns as float4, and neighbouring lanes read neighbours.
__device__ __forceinline__ Element first_of_thread() {
    const int t = threadIdx.x, lane = t % 32, warp = t / 32, warps_across = columns / warp_columns;
    return {warp / warps_across * warp_rows + lane / lane_columns * 4,
            warp % warps_across * warp_columns + lane % lane_columns * 4};
}

/// What a thread needs from both tiles for one step.
struct Fragment {
    alignas(16) float left[thread_rows], right[thread_columns]; // loaded as float4
};

/// Loads this thread's part of column l of A's tile and of row l of B's.
__device__ __forceinline__ void load(Fragment& f, const float* a_tile, int l, Element mine) {
    const float* const b_tile = a_tile + depth * pitch;
#pragma unroll
    for (int i = 0; i < thread_rows; i += 4)
        *reinterpret_cast<float4*>(&f.left[i]) =
            *reinterpret_cast<const float4*>(&a_tile[l * pitch + mine.row + i * lane_rows]);
#pragma unroll
    for (int j = 0; j < thread_columns; j += 4)
        *reinterpret_cast<float4*>(&f.right[j]) =
            *reinterpret_cast<const float4*>(&b_tile[l * columns + mine.column + j * lane_columns]);
}

/// Adds up, along a row and back along the next: the operand at the turn is used twice in succession.
__device__ __forceinline__ void add_products(float (&sum)[thread_rows][thread_columns], const Fragment& f) {
#pragma unroll
    for (int i = 0; i < thread_rows; ++i)
#pragma unroll
        for (int step = 0; step < thread_columns; ++step) {
            const int j = i % 2 ? thread_columns - 1 - step : step;
            sum[i][j] += f.left[i] * f.right[j];
        }
}

/// Writes the sums that lie inside C.
template <bool vector>
__device__ __forceinline__ void store(float* c, const float (&sum)[thread_rows][thread_columns], Element block,
                                      Element mine, int m, int n) {
#pragma unroll
    for (int i = 0; i < thread_rows; ++i) {
        const int r = block.row + mine.row + i / 4 * 4 * lane_rows + i % 4;
        if (r >= m) continue;
#pragma unroll
        for (int j = 0; j < thread_columns; j += 4) {
            const int s = block.column + mine.column + j * lane_columns;
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

} // namespace

/// One tile of C per block; any shape.
/// @tparam vector whether 4 divides n, so that rows of B and C can be moved in 16-byte pieces
template <bool vector>
__global__ void __launch_bounds__(threads, 2) pipeline_kernel(const float* __restrict__ a, const float* __restrict__ b,
                                                              float* __restrict__ c, int m, int k, int n) {
    extern __shared__ __align__(16) float all_stages[]; // of each stage: A's tile, then B's
    const Element block = first_of_block(m, n), mine = first_of_thread();

    // What this thread copies: of A's tile, column a_l of every a_step-th row; of B's, four columns of every b_step-th.
    constexpr int a_step = threads / depth, b_step = threads / (columns / 4);
    const int t = threadIdx.x;
    const int a_l = t % depth, a_i = t / depth;
    const int b_l = t / (columns / 4), b_j = t % (columns / 4) * 4;
    const int rows_left = m - block.row - a_i; // from the first one it copies
    const float* const a_from = a + std::size_t(block.row + a_i) * k + a_l;
    const float* const b_from = b + std::size_t(b_l) * n + block.column + b_j;
    const auto start = [&](int stage, int l0) {
        float* const a_tile = all_stages + stage * stage_floats;
        float* const b_tile = a_tile + depth * pitch;
#pragma unroll
        for (int i = 0; i < rows; i += a_step)
            gpulab::copy_async<4>(&a_tile[a_l * pitch + a_i + i], a_from + l0 + std::size_t(i) * k,
                                  l0 + a_l < k && i < rows_left);
#pragma unroll
        for (int l = 0; l < depth; l += b_step) {
            float* const to = &b_tile[(b_l + l) * columns + b_j];
            const float* const from = b_from + std::size_t(l0 + l) * n;
            const bool inside = l0 + b_l + l < k;
            if constexpr (vector) gpulab::copy_async<16>(to, from, inside && block.column + b_j < n);
            else
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    gpulab::copy_async<4>(to + j, from + j, inside && block.column + b_j + j < n);
        }
    };

    // The stages form a ring:
    //
    //                stage 0        stage 1        stage 2
    //     tile 0     is multiplied  1 under way    2 is started
    //     tile 1     3 is started   is multiplied  2 under way
    //     tile 2     3 under way    4 is started   is multiplied
    const int tiles = (k + depth - 1) / depth;
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) {
        if (s < tiles) start(s, s * depth);
        gpulab::commit_copies(); // also when there is nothing: the count of groups must agree
    }
    gpulab::wait_for_copies<stages - 2>();
    __syncthreads();
    float sum[thread_rows][thread_columns] = {};
    Fragment fragment[2]; // while the products of one are summed, the other is loaded
    int reading = 0, writing = stages - 1;
    if (tiles > 0) load(fragment[0], all_stages, 0, mine);
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int l = 0; l < depth; ++l) {
            if (l == depth - 1) {                      // the next fragment is the first of the next tile
                gpulab::wait_for_copies<stages - 2>(); // this thread's share of it has arrived
                __syncthreads();                       // all shares have; no thread reads the present tile any more
                reading = reading + 1 == stages ? 0 : reading + 1;
            }
            // After the last tile: old numbers, never used.
            load(fragment[(l + 1) % 2], all_stages + reading * stage_floats, (l + 1) % depth, mine);
            if (l == 0) {
                const int ahead = tile + stages - 1;
                if (ahead < tiles) start(writing, ahead * depth);
                gpulab::commit_copies();
                writing = writing + 1 == stages ? 0 : writing + 1;
            }
            add_products(sum, fragment[l % 2]);
        }
    }
    store<vector>(c, sum, block, mine, m, n);
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
    watch.tile(rows, "m").tile(band_height * rows, "m");
    watch.tile(depth, "k").tile(stages * depth, "k");
    watch.tile(columns, "n").tile(4, "n");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        kernel<<<blocks, threads, shared_bytes, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace matmul
