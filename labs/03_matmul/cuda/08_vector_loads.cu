// Rung 8: 16-byte loads, and A's tile transposed.
//
// Changed: every number comes in a load of 16 bytes (float4), from global memory and from shared memory. A thread's
// numbers of A at one step are a column of A's tile, so the tile is stored transposed: then they lie side by side.
// 64 multiply-adds need four loads of 16 bytes; before, the eight numbers of B alone needed eight loads.
// Index: thread (y, x) has the rows 4 y ... 4 y + 3 of the upper and of the lower half of the block's 128, and likewise
// its columns. At each load a warp reads 16 neighbouring pieces of 16 bytes from B's tile and two from A's.
// If 4 does not divide the length of the rows, most rows do not begin at a multiple of 16 bytes. Such a matrix is read
// by single floats.
// Limit: waiting. All warps of a block wait at each tile until it has arrived from global memory.
#include "gpulab/cuda/timing.hpp"
#include "grid.cuh"
#include "matmul.hpp"

namespace matmul {

namespace {

constexpr int side = 128;     // of the square of C that a block computes
constexpr int depth = 8;      // columns of A and rows of B in a tile
constexpr int per_thread = 8; // rows and columns per thread
constexpr int half = side / 2;
constexpr int threads = (side / per_thread) * (side / per_thread);
constexpr int pitch = side + 4; // of A's transposed tile: a multiple of 4 for float4, not of 32 for the banks
static_assert(threads * 4 == side * depth, "one float4 of per_thread tile per thread");

/// Four neighbours of a row, from index `first` of `length`; zeros beyond the end. @tparam vector one 16-byte load
template <bool vector> __device__ float4 load4(const float* row, int first, int length, bool inside) {
    if (!inside || first >= length) return {};
    if constexpr (vector) return *reinterpret_cast<const float4*>(row + first); // then 4 divides length
    return {row[first], first + 1 < length ? row[first + 1] : 0, first + 2 < length ? row[first + 2] : 0,
            first + 3 < length ? row[first + 3] : 0};
}

} // namespace

/// Any shape. @tparam a_vector,b_vector whether 4 divides k, n
template <bool a_vector, bool b_vector>
__global__ void __launch_bounds__(threads, 2)
    vector_loads_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k,
                        int n) {
    __shared__ __align__(16) float a_tile[depth][pitch];
    __shared__ __align__(16) float b_tile[depth][side];
    const int t = threadIdx.x;
    const int row = block_y() * side, column = block_x() * side;
    const int x = t % 16 * 4, y = t / 16 * 4;
    const int a_row = t / 2, a_column = t % 2 * 4;   // the float4 of A that this thread loads
    const int b_row = t / 32, b_column = t % 32 * 4; // and of B

    alignas(16) float sum[per_thread][per_thread] = {}; // stored as float4
    for (int l0 = 0; l0 < k; l0 += depth) {
        const float4 four = load4<a_vector>(a + std::size_t(row + a_row) * k, l0 + a_column, k, row + a_row < m);
        a_tile[a_column + 0][a_row] = four.x;
        a_tile[a_column + 1][a_row] = four.y;
        a_tile[a_column + 2][a_row] = four.z;
        a_tile[a_column + 3][a_row] = four.w;
        *reinterpret_cast<float4*>(&b_tile[b_row][b_column]) =
            load4<b_vector>(b + std::size_t(l0 + b_row) * n, column + b_column, n, l0 + b_row < k);
        __syncthreads(); // the tiles are complete

#pragma unroll
        for (int l = 0; l < depth; ++l) {
            alignas(16) float left[per_thread], right[per_thread]; // loaded as float4
            *reinterpret_cast<float4*>(&left[0]) = *reinterpret_cast<const float4*>(&a_tile[l][y]);
            *reinterpret_cast<float4*>(&left[4]) = *reinterpret_cast<const float4*>(&a_tile[l][half + y]);
            *reinterpret_cast<float4*>(&right[0]) = *reinterpret_cast<const float4*>(&b_tile[l][x]);
            *reinterpret_cast<float4*>(&right[4]) = *reinterpret_cast<const float4*>(&b_tile[l][half + x]);
#pragma unroll
            for (int i = 0; i < per_thread; ++i)
#pragma unroll
                for (int j = 0; j < per_thread; ++j) sum[i][j] += left[i] * right[j];
        }
        __syncthreads(); // no thread reads them any more
    }
#pragma unroll
    for (int i = 0; i < per_thread; ++i) {
        const int r = row + i / 4 * half + y + i % 4;
        if (r >= m) continue;
#pragma unroll
        for (int j = 0; j < per_thread; j += 4) {
            const int s = column + j / 4 * half + x;
            float* const to = c + std::size_t(r) * n + s;
            if (b_vector && s < n) *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(&sum[i][j]);
            if (!b_vector)
                for (int e = 0; e < 4; ++e)
                    if (s + e < n) to[e] = sum[i][j + e];
        }
    }
}

void cuda_vector_loads(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    const bool a_vector = p.k % 4 == 0, b_vector = p.n % 4 == 0;
    const auto kernel = a_vector ? (b_vector ? vector_loads_kernel<true, true> : vector_loads_kernel<true, false>)
                                 : (b_vector ? vector_loads_kernel<false, true> : vector_loads_kernel<false, false>);
    watch.tile(side, "m").tile(depth, "k").tile(side, "n");
    watch.tile(half, "m").tile(half, "n").tile(4, "m").tile(4, "k").tile(4, "n");
    watch.tile(max_blocks_y * side, "m");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 blocks = tile_grid(p.n, side, p.m, side);
        kernel<<<blocks, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace matmul
