// Rung 7: eight by eight elements per thread.
//
// Changed: a thread takes 8 numbers of A's tile and 8 of B's and makes 64 products of them: four multiply-adds for each
// number from shared memory, instead of less than one. The 64 sums stay in registers from the first tile to the
// last.
// Index: a block of 256 threads computes 128 x 128 elements. Thread t has the place (y, x) = (t / 16, t mod 16) in a
// 16 x 16 square. It computes the rows y + 16 i and the columns x + 16 j, so neighbouring threads have neighbouring
// columns.
// Registers: 64 sums and what goes with them need up to 128 registers per thread. A multiprocessor has 65,536 of them,
// so it holds two blocks (65,536 / 256 / 128), and the second number of __launch_bounds__ makes the compiler keep to
// that limit. The study `registers` asks for other numbers of blocks.
// Limit: instructions that are not multiply-adds. The compiler joins four neighbours of A's tile into one 16-byte load,
// but each number of B's tile is a load of its own, and so is each number from global memory. And as before, nothing
// overlaps the loads from global memory: the threads wait for every tile.
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "grid.cuh"
#include "matmul.hpp"
#include "studies.hpp"

namespace matmul {

namespace {

constexpr int side = 128;     // of the square of C that a block computes
constexpr int depth = 8;      // columns of A and rows of B in a tile
constexpr int per_thread = 8; // rows and columns per thread
constexpr int span = side / per_thread;
constexpr int threads = span * span;
static_assert(side % (threads / depth) == 0 && depth % (threads / side) == 0, "the tiles in whole rounds of loads");

} // namespace

/// Any shape. @tparam resident the blocks that a multiprocessor shall hold at a time
template <int resident>
__global__ void __launch_bounds__(threads, resident)
    register_2d_kernel(const float* a, const float* b, float* c, int m, int k, int n) {
    __shared__ float a_tile[side][depth];
    __shared__ float b_tile[depth][side];
    const int t = threadIdx.x;
    const int row = block_y() * side, column = block_x() * side;
    const int x = t % span, y = t / span;
    const int a_row = t / depth, a_column = t % depth, b_row = t / side, b_column = t % side; // the first it loads

    float sum[per_thread][per_thread] = {};
    for (int l0 = 0; l0 < k; l0 += depth) {
#pragma unroll
        for (int e = 0; e < side; e += threads / depth) {
            const int i = e + a_row;
            a_tile[i][a_column] = row + i < m && l0 + a_column < k ? a[std::size_t(row + i) * k + l0 + a_column] : 0;
        }
#pragma unroll
        for (int e = 0; e < depth; e += threads / side) {
            const int l = e + b_row;
            b_tile[l][b_column] =
                l0 + l < k && column + b_column < n ? b[std::size_t(l0 + l) * n + column + b_column] : 0;
        }
        __syncthreads(); // the tiles are complete

#pragma unroll
        for (int l = 0; l < depth; ++l) {
            float left[per_thread], right[per_thread];
#pragma unroll
            for (int i = 0; i < per_thread; ++i) left[i] = a_tile[y + span * i][l];
#pragma unroll
            for (int j = 0; j < per_thread; ++j) right[j] = b_tile[l][x + span * j];
#pragma unroll
            for (int i = 0; i < per_thread; ++i)
#pragma unroll
                for (int j = 0; j < per_thread; ++j) sum[i][j] += left[i] * right[j];
        }
        __syncthreads(); // no thread reads them any more
    }
#pragma unroll
    for (int i = 0; i < per_thread; ++i)
#pragma unroll
        for (int j = 0; j < per_thread; ++j) {
            const int r = row + y + span * i, s = column + x + span * j;
            if (r < m && s < n) c[std::size_t(r) * n + s] = sum[i][j];
        }
}

template <int resident> void multiply(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    watch.tile(side, "m").tile(depth, "k").tile(side, "n");
    watch.tile(span, "m").tile(span, "n").tile(max_blocks_y * side, "m");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 blocks = tile_grid(p.n, side, p.m, side);
        register_2d_kernel<resident><<<blocks, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

void cuda_register_2d(const Problem<float>& p, Output<float>& c, Stopwatch& watch) { multiply<2>(p, c, watch); }

// For the study `registers`.

void cuda_resident(const Problem<float>& p, Output<float>& c, Stopwatch& watch, int resident) {
    switch (resident) {
    case 1: return multiply<1>(p, c, watch);
    case 2: return multiply<2>(p, c, watch);
    case 3: return multiply<3>(p, c, watch);
    case 4: return multiply<4>(p, c, watch);
    default: throw gpulab::Unsupported("the kernel is compiled for 1 to 4 resident blocks");
    }
}

namespace {
template <class Kernel> Registers registers_of(Kernel kernel) {
    cudaFuncAttributes compiled = {};
    CUDA_CHECK(cudaFuncGetAttributes(&compiled, kernel));
    const gpulab::Occupancy o = gpulab::occupancy(kernel, threads);
    return {compiled.numRegs, static_cast<int>(compiled.localSizeBytes), o.blocks_per_sm, o.percent};
}
} // namespace

Registers cuda_registers(int resident) {
    switch (resident) {
    case 1: return registers_of(register_2d_kernel<1>);
    case 2: return registers_of(register_2d_kernel<2>);
    case 3: return registers_of(register_2d_kernel<3>);
    case 4: return registers_of(register_2d_kernel<4>);
    default: throw gpulab::Unsupported("the kernel is compiled for 1 to 4 resident blocks");
    }
}

} // namespace matmul
