// Rung 12: tensor cores, through C++. Each multiplies small matrices in one instruction. (NVIDIA, CUDA C++ Programming
// Guide, "Warp matrix functions"; PTX ISA, "wmma")
//
// Changed: who multiplies. Tiles are loaded into shared memory as in cuda_shared_static; then each warp, not each
// thread, multiplies parts of them.
// - A fragment is a matrix of 16 x 16 elements in the registers of a warp. Which thread has which element is not
//   specified. load_matrix_sync, mma_sync and store_matrix_sync know: all threads of a warp call them together.
// - A and B are FP16 (half): 11 significant bits instead of 24. They are rounded beforehand; sums stay in float. FP16
//   has few exponents: its largest number is 65504, and the rung refuses larger elements; below 2^-14 its numbers are
//   2^-24 apart.
// - A warp computes 32 x 64 elements of C, in 2 x 4 fragments. For 8 products it loads 2 fragments of A and 4 of B.
// - Rows of the tiles are 16 bytes longer than they need be. So eight rows begin in different banks.
// - Only whole fragments can be stored, but C ends anywhere. So a fragment is stored to shared memory, and those of its
//   elements that lie inside C are copied from there.
// Limit: waiting for each tile, because nothing is loaded during the products; loads of fragments.
#include <cstddef>
#include <cuda_fp16.h>
#include <mma.h>

#include "gpulab/cuda/timing.hpp"
#include "grid.cuh"
#include "matmul.hpp"
#include "narrow.hpp"

namespace matmul {

namespace {

namespace wmma = nvcuda::wmma;
using Matrix = NarrowMatrix<half>;

constexpr int rows = 128, columns = 128; // of C that a block computes
constexpr int depth = 32;                // columns of A's tile, rows of B's
constexpr int warp_rows = 32, warp_columns = 64;
constexpr int side = 16; // of a fragment
constexpr int threads = 32 * (rows / warp_rows) * (columns / warp_columns);
constexpr int piece = Matrix::piece; // elements that a thread loads at once

/// A tile in shared memory. load_matrix_sync wants rows at multiples of 16 bytes, and fragments at multiples of 32.
template <int height, int width> struct __align__(32) Tile {
    static constexpr int pitch = width + piece;
    half elements[height][pitch];

    /// All threads of the block load the tile from (row, column) on. What lies outside the matrix is 0.
    __device__ void load(const half* matrix, int row, int column, int matrix_rows, int matrix_pitch) {
        for (int e = threadIdx.x * piece; e < height * width; e += threads * piece) {
            const int i = e / width, j = e % width;
            const bool inside = row + i < matrix_rows && column + j < matrix_pitch;
            const half* const from = matrix + std::size_t(row + i) * matrix_pitch + column + j;
            *reinterpret_cast<uint4*>(&elements[i][j]) = inside ? *reinterpret_cast<const uint4*>(from) : uint4{};
        }
    }
};

} // namespace

/// One tile of C per block. Rows of A and B have a_pitch and b_pitch elements: multiples of 8, the last of them 0.
__global__ void __launch_bounds__(threads)
    tensor_fp16_kernel(const half* a, const half* b, float* c, int m, int k, int n, int a_pitch, int b_pitch) {
    __shared__ Tile<rows, depth> a_tile;
    __shared__ Tile<depth, columns> b_tile;
    __shared__ __align__(32) float squares[threads / 32][side * side]; // one for each warp
    const int row = block_y() * rows, column = block_x() * columns;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / (columns / warp_columns) * warp_rows;
    const int warp_column = warp % (columns / warp_columns) * warp_columns;

    wmma::fragment<wmma::accumulator, side, side, side, float> sum[warp_rows / side][warp_columns / side];
    for (auto& of_row : sum)
        for (auto& fragment : of_row) wmma::fill_fragment(fragment, 0);

    for (int l0 = 0; l0 < k; l0 += depth) {
        a_tile.load(a, row, l0, m, a_pitch);
        b_tile.load(b, l0, column, k, b_pitch);
        __syncthreads(); // the tiles are complete

#pragma unroll
        for (int l = 0; l < depth; l += side) {
            wmma::fragment<wmma::matrix_a, side, side, side, half, wmma::row_major> left[warp_rows / side];
            for (int i = 0; i < warp_rows / side; ++i)
                wmma::load_matrix_sync(left[i], &a_tile.elements[warp_row + i * side][l], a_tile.pitch);
            for (int j = 0; j < warp_columns / side; ++j) {
                wmma::fragment<wmma::matrix_b, side, side, side, half, wmma::row_major> right;
                wmma::load_matrix_sync(right, &b_tile.elements[l][warp_column + j * side], b_tile.pitch);
                for (int i = 0; i < warp_rows / side; ++i) wmma::mma_sync(sum[i][j], left[i], right, sum[i][j]);
            }
        }
        __syncthreads(); // no warp reads them any more
    }

    float* const square = squares[warp];
    for (int i = 0; i < warp_rows / side; ++i)
        for (int j = 0; j < warp_columns / side; ++j) {
            wmma::store_matrix_sync(square, sum[i][j], side, wmma::mem_row_major);
            __syncwarp(); // all of it is there
            for (int e = lane; e < side * side; e += 32) {
                const int r = row + warp_row + i * side + e / side, s = column + warp_column + j * side + e % side;
                if (r < m && s < n) c[std::size_t(r) * n + s] = square[e];
            }
            __syncwarp(); // before the next one
        }
}

void cuda_tensor_fp16(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const Matrix a(p.a, p.m, p.k), b(p.b, p.k, p.n); // rounded, before the time is taken
    gpulab::DeviceBuffer<float> out(p.size());
    watch.tile(rows, "m").tile(depth, "k").tile(columns, "n").tile(max_blocks_y * rows, "m");
    watch.tile(piece, "k").tile(piece, "n").tile(side, "m").tile(side, "n");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 blocks = tile_grid(p.n, columns, p.m, rows);
        tensor_fp16_kernel<<<blocks, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n, a.pitch(),
                                                           b.pitch());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace matmul
