/// @file
/// The pipeline of cuda_pipeline with sizes that the launcher chooses, and with k in parts: cuda_warp_tiles launches it
/// with one tile, cuda_by_shape with the one that suits the shape.
#pragma once

#include <cstddef>

#include "gpulab/cuda/async_copy.cuh"
#include "gpulab/cuda/check.hpp"
#include "gpulab/math.hpp"
#include "gpulab/stopwatch.hpp"

namespace matmul {

/// The sizes of one kernel, and its steps. A block computes rows x columns of C from tiles of A and B `depth` deep;
/// there is room for `stages` pairs of tiles. A warp computes warp_rows x warp_columns of that; its 32 lanes form
/// lane_rows rows.
template <int rows_, int columns_, int depth_, int warp_rows_, int warp_columns_, int lane_rows_, int stages_,
          int blocks_per_sm_>
struct WarpTile {
    static constexpr int rows = rows_, columns = columns_, depth = depth_;
    static constexpr int warp_rows = warp_rows_, warp_columns = warp_columns_;
    static constexpr int lane_rows = lane_rows_, lane_columns = 32 / lane_rows;
    static constexpr int stages = stages_, blocks_per_sm = blocks_per_sm_;
    static constexpr int threads = (rows / warp_rows) * (columns / warp_columns) * 32;
    static constexpr int thread_rows = warp_rows / lane_rows, thread_columns = warp_columns / lane_columns;
    static constexpr int pitch = rows + 4; // of A's transposed tile: depth x pitch
    static constexpr int group = 8;        // tiles from top to bottom before the next column of tiles
    static constexpr int stage_floats = depth * (pitch + columns);
    static constexpr std::size_t shared_bytes = sizeof(float) * stages * stage_floats;

    static_assert(thread_rows % 4 == 0 && thread_columns % 4 == 0, "fragments are made of float4");
    static_assert(threads % depth == 0 && rows % (threads / depth) == 0, "A's tile in whole rounds of copies");
    static_assert(threads % (columns / 4) == 0 && depth % (threads / (columns / 4)) == 0, "and B's");
    static_assert(depth % 2 == 0, "two fragments take turns");

    /// An element of C.
    struct Element {
        int row, column;
    };

    /// What a thread needs from both tiles for one step.
    struct Fragment {
        alignas(16) float left[thread_rows], right[thread_columns]; // loaded as float4
    };

    /// The first element that a block computes. Blocks are numbered down a column of `group` tiles, then down the next
    /// column, as cuda_pipeline shows: those that run at the same time form a square of C rather than a strip, and
    /// share more rows of A and columns of B in the L2.
    static __device__ __forceinline__ Element first_of_block(int m, int n, int group) {
        const int tile_rows = (m + rows - 1) / rows, tile_columns = (n + columns - 1) / columns;
        const int band = blockIdx.x / (group * tile_columns), within = blockIdx.x - band * group * tile_columns;
        const int height = min(group, tile_rows - band * group); // the last band may be lower
        return {(band * group + within % height) * rows, within / height * columns};
    }

    /// The first element of a thread within the block's tile. A lane has pieces of 4 x 4 elements, lane_rows * 4 rows
    /// and lane_columns * 4 columns apart: it reads its rows and columns as float4, and neighbours read neighbours.
    /// With the sizes of cuda_warp_tiles:
    ///
    ///     a block's tile:      the tile of a warp: the lane that has each piece
    ///
    ///           64  64              16                16      16      16
    ///          +---+---+          +-----------------+-------+-------+-------+
    ///       64 | 0 | 1 |       32 |  0   1   2   3  |       |       |       |
    ///          +---+---+          |  4   5   6   7  |   the same lanes again
    ///       64 | 2 | 3 |          |       ...       |       |       |       |
    ///          +---+---+          | 28  29  30  31  |       |       |       |
    ///                             +-----------------+-------+-------+-------+
    ///       4 warps            32 |                 |       |       |       |
    ///                             +-----------------+-------+-------+-------+
    static __device__ __forceinline__ Element first_of_thread() {
        const int t = threadIdx.x, lane = t % 32, warp = t / 32, warps_across = columns / warp_columns;
        return {warp / warps_across * warp_rows + lane / lane_columns * 4,
                warp % warps_across * warp_columns + lane % lane_columns * 4};
    }

    /// Loads this thread's part of column l of A's tile and of row l of B's.
    static __device__ __forceinline__ void load(Fragment& f, const float* a_tile, int l, Element mine) {
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
    static __device__ __forceinline__ void add_products(float (&sum)[thread_rows][thread_columns], const Fragment& f) {
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
    static __device__ __forceinline__ void store(float* c, const float (&sum)[thread_rows][thread_columns],
                                                 Element block, Element mine, int m, int n) {
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
};

/// Part blockIdx.y of k for one tile of C: columns of A, rows of B from blockIdx.y * part on. Any shape.
/// @tparam vector whether 4 divides n, so that rows of B and C can be moved in 16-byte pieces
/// @param c m x n for each part, one after the other
/// @param part columns of A (rows of B) in a part, a multiple of G::depth
template <class G, bool vector>
__global__ void __launch_bounds__(G::threads, G::blocks_per_sm)
    warp_tile_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k,
                     int n, int part, int group) {
    extern __shared__ __align__(16) float stages[]; // of each stage: A's tile, then B's
    const auto block = G::first_of_block(m, n, group);
    const int begin = blockIdx.y * part, end = min(k, begin + part);
    const auto mine = G::first_of_thread();

    // What this thread copies: of A's tile, column a_l of every a_step-th row; of B's, four columns of every b_step-th.
    constexpr int a_step = G::threads / G::depth, b_step = G::threads / (G::columns / 4);
    const int t = threadIdx.x;
    const int a_l = t % G::depth, a_i = t / G::depth;
    const int b_l = t / (G::columns / 4), b_j = t % (G::columns / 4) * 4;
    const bool all_rows = block.row + G::rows <= m; // an interior tile needs no test for each row
    const float* const a_from = a + std::size_t(block.row + a_i) * k + a_l;
    const float* const b_from = b + std::size_t(b_l) * n + block.column + b_j;
    const auto start = [&](int stage, int l0) {
        float* const a_tile = stages + stage * G::stage_floats;
        float* const b_tile = a_tile + G::depth * G::pitch;
#pragma unroll
        for (int i = 0; i < G::rows; i += a_step)
            gpulab::copy_async<4>(&a_tile[a_l * G::pitch + a_i + i], a_from + l0 + std::size_t(i) * k,
                                  l0 + a_l < end && (all_rows || block.row + a_i + i < m));
#pragma unroll
        for (int l = 0; l < G::depth; l += b_step) {
            float* const to = &b_tile[(b_l + l) * G::columns + b_j];
            const float* const from = b_from + std::size_t(l0 + l) * n;
            const bool inside = l0 + b_l + l < end;
            if constexpr (vector) gpulab::copy_async<16>(to, from, inside && block.column + b_j < n);
            else
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    gpulab::copy_async<4>(to + j, from + j, inside && block.column + b_j + j < n);
        }
    };

    // The ring of stages, as in cuda_pipeline.
    const int tiles = (end - begin + G::depth - 1) / G::depth;
#pragma unroll
    for (int s = 0; s < G::stages - 1; ++s) {
        if (s < tiles) start(s, begin + s * G::depth);
        gpulab::commit_copies(); // also when there is nothing: the count of groups must agree
    }
    gpulab::wait_for_copies<G::stages - 2>();
    __syncthreads();
    float sum[G::thread_rows][G::thread_columns] = {};
    typename G::Fragment fragment[2]; // while the products of one are summed, the other is loaded
    int reading = 0, writing = G::stages - 1;
    if (tiles > 0) G::load(fragment[0], stages, 0, mine);
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int l = 0; l < G::depth; ++l) {
            if (l == G::depth - 1) {                      // the next fragment is the first of the next tile
                gpulab::wait_for_copies<G::stages - 2>(); // this thread's share of it has arrived
                __syncthreads();                          // all shares have; no thread reads the present tile any more
                reading = reading + 1 == G::stages ? 0 : reading + 1;
            }
            // After the last tile: old numbers, never used.
            G::load(fragment[(l + 1) % 2], stages + reading * G::stage_floats, (l + 1) % G::depth, mine);
            if (l == 0) {
                const int ahead = tile + G::stages - 1;
                if (ahead < tiles) start(writing, begin + ahead * G::depth);
                gpulab::commit_copies();
                writing = writing + 1 == G::stages ? 0 : writing + 1;
            }
            G::add_products(sum, fragment[l % 2]);
        }
    }
    G::template store<vector>(c + blockIdx.y * std::size_t(m) * n, sum, block, mine, m, n);
}

/// Allows the kernel its shared memory. Once per device and process is enough.
/// @return whether the current device has that much
template <class G> bool prepare_warp_tile() {
    int device = 0, most = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (static_cast<std::size_t>(most) < G::shared_bytes) return false;
    constexpr auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_CHECK(cudaFuncSetAttribute(warp_tile_kernel<G, true>, attribute, static_cast<int>(G::shared_bytes)));
    CUDA_CHECK(cudaFuncSetAttribute(warp_tile_kernel<G, false>, attribute, static_cast<int>(G::shared_bytes)));
    return true;
}

/// Names the sizes at which the kernel cuts a product: tiles and bands of tiles of C, tiles of k and as many of them as
/// there are stages, and pieces of 16 bytes.
template <class G> void name_tiles(gpulab::Stopwatch& watch) {
    watch.tile(G::rows, "m").tile(G::group * G::rows, "m");
    watch.tile(G::depth, "k").tile(G::stages * G::depth, "k");
    watch.tile(G::columns, "n").tile(4, "n");
}

/// Launches the kernel over all of C.
/// @param vector whether to move rows of B and C in 16-byte pieces
/// @pre m n > 0, prepare_warp_tile<G>(); 4 divides n where vector is true
template <class G>
void launch_warp_tile(const float* a, const float* b, float* c, int m, int k, int n, bool vector, int part, int parts,
                      cudaStream_t stream) {
    const std::size_t tiles = gpulab::ceil_div(m, G::rows) * gpulab::ceil_div(n, G::columns);
    const dim3 blocks(static_cast<unsigned>(tiles), static_cast<unsigned>(parts));
    const auto kernel = vector ? warp_tile_kernel<G, true> : warp_tile_kernel<G, false>;
    kernel<<<blocks, G::threads, G::shared_bytes, stream>>>(a, b, c, m, k, n, part, G::group);
}

} // namespace matmul
