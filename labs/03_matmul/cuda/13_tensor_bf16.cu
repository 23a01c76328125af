// Rung 13: tensor cores that work while their warps go on.
//
// Changed: the numbers, and who does what.
// - BF16 is the upper half of a float: all its exponents, but 8 significant bits. A and B are rounded to it beforehand;
//   sums stay in float. The tensor cores of a multiprocessor do 2048 multiply-adds of BF16 in a cycle, as many as of
//   FP16, and 16 times as many as its other units do of float.
// - One instruction, wgmma, multiplies 64 x 16 elements of A by 16 x 256 of B. A warpgroup (four warps in succession)
//   starts it and goes on; it reads both tiles from shared memory itself. Its sums are in the registers of the
//   warpgroup, 128 in each thread. Compute capability 9.0 only.
// - A tile is copied by one thread with one instruction: a unit beside the threads (TMA, the tensor memory accelerator)
//   computes the addresses, and writes 0 for what lies outside the matrix.
// - Warps have roles. One thread does nothing but start copies, two warpgroups do nothing but multiply. Two barriers
//   for each stage connect them: `full` (the tiles have arrived) and `empty` (both warpgroups have read them).
//
//                    copies              multiply
//     empty[s] ---> starts copies ---> full[s] ---> 4 x wgmma ---> empty[s] ...
//
// A block computes 128 x 256 elements of C from tiles 64 deep. Where such blocks are too few for the device, it
// computes 128 x 64, and the instruction multiplies by 16 x 64 of B.
// Limit: filling and emptying the pipeline of each block, and the transfer of the tiles from the L2 cache.
#include <cstddef>
#include <cuda_bf16.h>

#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "matmul.hpp"
#include "narrow.hpp"
#include "studies.hpp"
#include "tensor.cuh"

namespace matmul {

namespace {

using Matrix = NarrowMatrix<__nv_bfloat16>;

constexpr int rows = 128; // of C that a block computes
constexpr int depth = 64; // columns of A and rows of B in a stage: 64 of them are 128 bytes
constexpr int warpgroup = 128, threads = 3 * warpgroup; // one starts copies, two multiply
constexpr int a_bytes = rows * depth * 2;               // of A's tile in a stage
constexpr int b_tile_bytes = depth * tile_row_bytes;    // of one of B's tiles, each 64 columns wide
constexpr int band_height = 8; // tiles from top to bottom before the next column of tiles, as in cuda_pipeline

/// A stage of a block that computes `columns` columns of C: A's tile, then B's.
template <int columns> struct Stage {
    static constexpr int bytes = a_bytes + columns / 64 * b_tile_bytes;
    static constexpr int count = 224 * 1024 / bytes < 8 ? 224 * 1024 / bytes : 8; ///< that a block has
};

} // namespace

/// One tile of C per block.
template <int columns>
__global__ void __launch_bounds__(threads, 1)
    tensor_bf16_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c, int m,
                       int k, int n) {
#if defined(MATMUL_WGMMA)
    constexpr int stages = Stage<columns>::count, stage_bytes = Stage<columns>::bytes;
    extern __shared__ __align__(1024) unsigned char all_stages[]; // of each stage: A's tile, then B's
    __shared__ Barrier full[stages], empty[stages];
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) {
            full[s].init(1);
            empty[s].init(2);
        }
        publish_to_units();
    }
    __syncthreads();
    const int tile_rows = (m + rows - 1) / rows, tile_columns = (n + columns - 1) / columns;
    const int band = blockIdx.x / (band_height * tile_columns), within = blockIdx.x - band * band_height * tile_columns;
    const int height = min(band_height, tile_rows - band * band_height);
    const int row = (band * band_height + within % height) * rows, column = within / height * columns;
    const int steps = (k + depth - 1) / depth, group = threadIdx.x / warpgroup;

    if (group == 0) { // the copies
        leave_registers<24>();
        if (threadIdx.x != 0) return;
        for (int i = 0; i < steps; ++i) {
            const int s = i % stages;
            if (i >= stages) empty[s].wait(i / stages - 1);
            unsigned char* const a_tile = all_stages + s * stage_bytes;
            full[s].arrive_and_expect(stage_bytes);
            copy_tile(a_tile, a, row, i * depth, full[s]);
            for (int j = 0; j < columns / 64; ++j)
                copy_tile(a_tile + a_bytes + j * b_tile_bytes, b, i * depth, column + 64 * j, full[s]);
        }
        return;
    }
    take_registers<240>(); // the products
    const int my_rows = (group - 1) * 64;
    float sum[columns / 2] = {};
    for (int i = 0; i < steps; ++i) {
        const int s = i % stages;
        full[s].wait(i / stages);
        const unsigned char* const a_tile = all_stages + s * stage_bytes + my_rows * tile_row_bytes;
        const unsigned char* const b_tiles = all_stages + s * stage_bytes + a_bytes;
        begin_products();
#pragma unroll
        for (int l = 0; l < depth; l += 16) // 16 columns of A further along its rows; 16 rows of B further down
            multiply_bf16(sum, operand(a_tile + 2 * l),
                          operand(b_tiles + l * tile_row_bytes, 8 * tile_row_bytes, b_tile_bytes));
        commit_products();
        wait_for_products<1>(sum); // for those of the stage before; those of this stage go on
        if (i > 0 && threadIdx.x % warpgroup == 0) empty[(i - 1) % stages].arrive();
    }
    wait_for_products<0>(sum);

    // A warpgroup has 64 x 256 sums, each of its warps 16 rows of them. Lane 4 g + t has, of every eight columns,
    // elements 2 t and 2 t + 1 of rows g and g + 8.
    const int lane = threadIdx.x % 32, first = row + my_rows + threadIdx.x % warpgroup / 32 * 16 + lane / 4;
#pragma unroll
    for (int e = 0; e < columns / 2; e += 2) {
        const int r = first + e / 2 % 2 * 8, s = column + e / 4 * 8 + lane % 4 * 2;
        if (r >= m || s >= n) continue;
        float* const to = c + std::size_t(r) * n + s;
        if (n % 2 == 0) *reinterpret_cast<float2*>(to) = {sum[e], sum[e + 1]};
        else {
            to[0] = sum[e];
            if (s + 1 < n) to[1] = sum[e + 1];
        }
    }
#endif
}

namespace {

template <int columns> void multiply(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    constexpr int stages = Stage<columns>::count, shared_bytes = stages * Stage<columns>::bytes;
    require_wgmma();
    const Matrix a(p.a, p.m, p.k), b(p.b, p.k, p.n); // rounded, before the time is taken
    const auto kernel = tensor_bf16_kernel<columns>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    gpulab::DeviceBuffer<float> out(p.size());
    const auto blocks = static_cast<unsigned>(gpulab::ceil_div(p.m, rows) * gpulab::ceil_div(p.n, columns));
    watch.tile(rows, "m").tile(band_height * rows, "m");
    watch.tile(depth, "k").tile(stages * depth, "k");
    watch.tile(columns, "n").tile(Matrix::piece, "n").tile(Matrix::piece, "k");
    const bool empty = p.size() == 0 || p.k == 0;
    const CUtensorMap a_tiles = empty ? CUtensorMap{} : describe(a.data(), p.m, p.k, a.pitch(), rows);
    const CUtensorMap b_tiles = empty ? CUtensorMap{} : describe(b.data(), p.k, p.n, b.pitch(), depth);
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        if (p.k == 0) return CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream));
        kernel<<<blocks, threads, shared_bytes, stream>>>(a_tiles, b_tiles, out.data(), static_cast<int>(p.m),
                                                          static_cast<int>(p.k), static_cast<int>(p.n));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace

void cuda_tensor_bf16_large(const Problem<float>& p, Output<float>& c, Stopwatch& watch) { multiply<256>(p, c, watch); }

void cuda_tensor_bf16(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const std::size_t large = gpulab::ceil_div(p.m, rows) * gpulab::ceil_div(p.n, 256); // tiles
    if (2 * large <= gpulab::multiprocessor_count()) multiply<64>(p, c, watch);
    else cuda_tensor_bf16_large(p, c, watch);
}

} // namespace matmul
