// Rung 6: a column of eight elements per thread, kept in registers.
//
// Changed: a thread computes eight elements of one column of C. A number of B's tile, once in a register, serves eight
// sums: nine numbers from shared memory for eight multiply-adds, instead of sixteen. The sizes follow from that:
// with 512 threads a block computes 64 x 64 elements, and with tiles 8 deep each thread loads one number of each tile.
// Index: thread t has column t mod 64 and the eight rows from 8 (t / 64) on. A warp spans 32 columns of the same rows,
// so its threads read the same word of A's tile, which one access gives to all of them.
// Limit: waiting. A thread has only 64 multiply-adds between two barriers, and nothing overlaps the loads from global
// memory. Shared memory alone would allow more (count the loads: question 2 of the hand-out).
#include "gpulab/cuda/timing.hpp"
#include "grid.cuh"
#include "matmul.hpp"

namespace matmul {

namespace {

constexpr int side = 64;                          // of the square of C that a block computes
constexpr int depth = 8;                          // columns of A and rows of B in a tile
constexpr int per_thread = 8;                     // rows per thread
constexpr int threads = side * side / per_thread; // 512: one element of each tile per thread
static_assert(threads == side * depth);

} // namespace

/// Any shape.
__global__ void __launch_bounds__(threads)
    register_1d_kernel(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float a_tile[side][depth];
    __shared__ float b_tile[depth][side];
    const int t = threadIdx.x;
    const int row = block_y() * side, column = block_x() * side;
    const int x = t % side, y = t / side * per_thread; // this thread's column and first row within the block
    const int a_row = t / depth, a_column = t % depth, b_row = t / side, b_column = t % side; // what it loads

    float sum[per_thread] = {};
    for (int l0 = 0; l0 < k; l0 += depth) {
        a_tile[a_row][a_column] =
            row + a_row < m && l0 + a_column < k ? a[std::size_t(row + a_row) * k + l0 + a_column] : 0;
        b_tile[b_row][b_column] =
            l0 + b_row < k && column + b_column < n ? b[std::size_t(l0 + b_row) * n + column + b_column] : 0;
        __syncthreads(); // the tiles are complete

#pragma unroll
        for (int l = 0; l < depth; ++l) {
            const float right = b_tile[l][x];
#pragma unroll
            for (int i = 0; i < per_thread; ++i) sum[i] += a_tile[y + i][l] * right;
        }
        __syncthreads(); // no thread reads them any more
    }
#pragma unroll
    for (int i = 0; i < per_thread; ++i)
        if (row + y + i < m && column + x < n) c[std::size_t(row + y + i) * n + column + x] = sum[i];
}

void cuda_register_1d(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    watch.tile(side, "m").tile(depth, "k").tile(side, "n");
    watch.tile(per_thread, "m").tile(max_blocks_y * side, "m");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 blocks = tile_grid(p.n, side, p.m, side);
        register_1d_kernel<<<blocks, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace matmul
