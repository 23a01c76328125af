/// @file
/// What the rungs in TF32 share: their tiles, and the launch.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gpulab/cuda/timing.hpp"
#include "matmul.hpp"
#include "tensor.cuh"

namespace matmul {

/// A block computes rows x 128 elements of C. A stage has A's tile (rows x 32) `a_tiles` times, then four of B's (32 x
/// 32 each). Warpgroup 0 copies, the other two have 64 columns of C each.
template <int rows_, int a_tiles> struct TensorTile {
    static constexpr int rows = rows_, columns = 128, depth = tile_row_bytes / 4;
    static constexpr int warpgroup = 128, threads = 3 * warpgroup;
    static constexpr int sums = 64 * rows / warpgroup; ///< of a thread
    static constexpr int a_bytes = rows * tile_row_bytes, b_tile_bytes = depth * tile_row_bytes;
    static constexpr int b_offset = a_tiles * a_bytes;
    static constexpr int stage_bytes = b_offset + columns / depth * b_tile_bytes;
    static constexpr int stages = std::min(8, 226 * 1024 / stage_bytes); ///< that fit
    static constexpr int shared_bytes = stages * stage_bytes;
    static constexpr int band_height = 8; ///< tiles from top to bottom before the next column of tiles
    static constexpr std::size_t piece = 16 / sizeof(float);

    /// An element of C.
    struct Element {
        int row, column;
    };

    /// The first element of this block. Blocks are numbered in bands, as in cuda_pipeline.
    static __device__ Element first_of_block(int m, int n) {
        const int tile_rows = (m + rows - 1) / rows, tile_columns = (n + columns - 1) / columns;
        const int band = blockIdx.x / (band_height * tile_columns);
        const int within = blockIdx.x - band * band_height * tile_columns;
        const int height = min(band_height, tile_rows - band * band_height);
        return {(band * band_height + within % height) * rows, within / height * columns};
    }

#if defined(MATMUL_WGMMA)
    /// Starts all copies of this block, each when its stage is empty. By one thread.
    static __device__ void copy_all(unsigned char* all_stages, const CUtensorMap& a, const CUtensorMap& b,
                                    Element block, int steps, Barrier* full, Barrier* empty) {
        for (int i = 0; i < steps; ++i) {
            const int s = i % stages;
            if (i >= stages) empty[s].wait(i / stages - 1);
            unsigned char* const to = all_stages + s * stage_bytes;
            full[s].arrive_and_expect(stage_bytes - b_offset + a_bytes);
            copy_tile(to, a, block.row, i * depth, full[s]);
            for (int j = 0; j < columns / depth; ++j)
                copy_tile(to + b_offset + j * b_tile_bytes, b, i * depth, block.column + j * depth, full[s]);
        }
    }

    /// The first of the two columns of B's tiles, eight apart, of which this thread has elements.
    static __device__ int my_column() {
        const int t = threadIdx.x - warpgroup, lane = t % 32; // 64 columns to a warpgroup, 16 to a warp
        return t / 32 * 16 + lane / 4;
    }

    /// Loads this thread's elements of B's tiles: left[l] for rows 8 l ... 8 l + 7, in the order that a product expects
    /// (cuda_tensor_tf32 names it).
    static __device__ void load_left(unsigned (&left)[depth / 8][4], const unsigned char* b_tiles) {
        const int t = threadIdx.x % 4;
#pragma unroll
        for (int l = 0; l < depth / 8; ++l)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int row = 8 * l + t + e / 2 * 4, j = my_column() + e % 2 * 8;
                const int place = j % depth / 4 ^ row % 8; // as the copy exchanged the pieces of a row
                left[l][e] = *reinterpret_cast<const unsigned*>(b_tiles + j / depth * b_tile_bytes +
                                                                row * tile_row_bytes + place * 16 + j % 4 * 4);
            }
    }

    /// Writes the sums that lie inside C. A warpgroup has 64 x rows of C^T, in its registers as in cuda_tensor_bf16.
    static __device__ void store(float* c, const float (&sum)[sums], Element block, int m, int n) {
        const int t = threadIdx.x % 4;
#pragma unroll
        for (int e = 0; e < sums; ++e) {
            const int r = block.row + e / 4 * 8 + 2 * t + e % 2, s = block.column + my_column() + e / 2 % 2 * 8;
            if (r < m && s < n) c[std::size_t(r) * n + s] = sum[e];
        }
    }
#endif
};

/// Launches a kernel with such tiles.
template <class Tile>
void multiply_on_tensor_cores(void (*kernel)(CUtensorMap, CUtensorMap, float*, int, int, int), const Problem<float>& p,
                              Output<float>& c, Stopwatch& watch) {
    require_wgmma();
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::shared_bytes));
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    // Copies of A and B whose rows begin at multiples of 16 bytes, as copies of tiles require; empty where they do.
    const std::size_t a_pitch = gpulab::round_up(p.k, Tile::piece), b_pitch = gpulab::round_up(p.n, Tile::piece);
    gpulab::DeviceBuffer<float> a_rows(a_pitch == p.k ? 0 : p.m * a_pitch), b_rows(b_pitch == p.n ? 0 : p.k * b_pitch);
    const auto blocks = static_cast<unsigned>(gpulab::ceil_div(p.m, Tile::rows) * gpulab::ceil_div(p.n, Tile::columns));
    watch.tile(Tile::rows, "m").tile(Tile::band_height * Tile::rows, "m");
    watch.tile(Tile::depth, "k").tile(Tile::stages * Tile::depth, "k");
    watch.tile(Tile::columns, "n").tile(Tile::piece, "n").tile(Tile::piece, "k");
    const auto in_rows = [](const gpulab::DeviceBuffer<float>& matrix, gpulab::DeviceBuffer<float>& in_pieces,
                            std::size_t rows, std::size_t columns, std::size_t pitch, cudaStream_t stream) {
        if (pitch == columns) return;
        CUDA_CHECK(cudaMemcpy2DAsync(in_pieces.data(), 4 * pitch, matrix.data(), 4 * columns, 4 * columns, rows,
                                     cudaMemcpyDeviceToDevice, stream));
    };
    const bool empty = p.size() == 0 || p.k == 0;
    const CUtensorMap a_tiles =
        empty ? CUtensorMap{} : describe(a_pitch == p.k ? a.data() : a_rows.data(), p.m, p.k, a_pitch, Tile::rows);
    const CUtensorMap b_tiles =
        empty ? CUtensorMap{} : describe(b_pitch == p.n ? b.data() : b_rows.data(), p.k, p.n, b_pitch, Tile::depth);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (p.size() == 0) return;
            if (p.k == 0) return CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream));
            in_rows(a, a_rows, p.m, p.k, a_pitch, stream);
            in_rows(b, b_rows, p.k, p.n, b_pitch, stream);
            kernel<<<blocks, Tile::threads, Tile::shared_bytes, stream>>>(
                a_tiles, b_tiles, out.data(), static_cast<int>(p.m), static_cast<int>(p.k), static_cast<int>(p.n));
        },
        gpulab::poisoning(out, a_rows, b_rows));
    out.copy_to(c);
}

} // namespace matmul
