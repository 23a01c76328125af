// Batch in CUDA: a warp per matrix of at most 32 rows, in registers.
//
// Changed: each lane of a warp keeps a row in registers, and no thread waits for another warp. A step is
// eliminate_column() in batch.hpp: the pivot is found with integer instructions of the whole warp, and its row passes
// through shared memory to all lanes, which read the same address at the same time (a broadcast). Shuffles would take
// two instructions for each element. The first eight steps work on 32 columns, the next eight on 24, and so on: little
// arithmetic is wasted, and the loops keep the program short.
// Matrices pass through shared memory on their way in and out, too, so that a warp accesses consecutive addresses in
// global memory, and a lane its own row. There the rows are put in order.
// Limit: the chain of a step: search, broadcast, division. Other warps work meanwhile, as many as the registers allow.
#include "batch.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"

namespace lu {

namespace {

constexpr int warps_of_block = 4; // each with its own matrix
constexpr int lanes = 32;

/// Shared memory of a warp, for matrices of at most MOST rows.
template <int MOST> struct Tile {
    // 16-byte words, an odd number of them, so that lanes that access 16 bytes of their own rows meet in no bank.
    static constexpr int stride = MOST + 2;
    alignas(16) double m[MOST * stride];
    alignas(16) double row_of_u[2 * MOST];
    Choice chosen[MOST];
};

/// All steps from k on. Each lane has the LEFT columns from there on, in the first registers of its row.
template <int LEFT, int MOST>
__device__ void eliminate_from(int k, double (&row)[MOST], int (&position)[1], int lane, int n, Tile<MOST>& tile) {
    double v[1][LEFT];
#pragma unroll
    for (int j = 0; j < LEFT; ++j) v[0][j] = row[j];
    const int end = min(k + 8, n);
#pragma unroll 1
    for (; k < end; ++k)
        eliminate_column<Tile<MOST>::stride>(v, position, lane, k, n, tile.m, tile.row_of_u, tile.chosen);
#pragma unroll
    for (int j = 0; j < LEFT; ++j) row[j] = v[0][j];
    if constexpr (LEFT > 8)
        if (k < n) eliminate_from<LEFT - 8>(k, row, position, lane, n, tile);
}

/// Factorises matrix number blockIdx.x * warps_of_block + warp, of n <= MOST rows; MOST is a multiple of 8, at most 32.
template <int MOST>
__global__ void __launch_bounds__(warps_of_block* lanes, 5)
    batch_warp_kernel(double* all, std::int32_t* all_pivots, int n, std::size_t count) {
    __shared__ Tile<MOST> tiles[warps_of_block];
    const int lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
    const std::size_t matrix = std::size_t(blockIdx.x) * warps_of_block + warp;
    if (matrix >= count) return; // the whole warp
    Tile<MOST>& tile = tiles[warp];
    double* const a = all + matrix * n * n;

#pragma unroll
    for (int i = 0; i < MOST; ++i)
        if (i < n && lane < n) tile.m[i * tile.stride + lane] = a[i * n + lane];
    __syncwarp();
    double row[MOST] = {}; // columns from n on are never used
    if (lane < n) load(row, tile.m + lane * tile.stride);
    __syncwarp(); // all rows are read: L and U may take their place

    int position[1] = {lane < n ? lane : -1}; // -1: this lane has no row
    eliminate_from<MOST>(0, row, position, lane, n, tile);
    __syncwarp();
    if (lane < n) all_pivots[matrix * n + lane] = tile.chosen[lane].position;
#pragma unroll
    for (int i = 0; i < MOST; ++i)
        if (i < n && lane < n) a[i * n + lane] = tile.m[tile.chosen[i].row * tile.stride + lane];
}

} // namespace

void cuda_batch_warp(const Problem& p, Factors& f, Stopwatch& watch) {
    if (p.n > lanes)
        throw gpulab::Unsupported(std::to_string(p.n) + " rows are more than a warp of this variant keeps, " +
                                  std::to_string(lanes));
    const auto kernel = p.n <= 8    ? batch_warp_kernel<8>
                        : p.n <= 16 ? batch_warp_kernel<16>
                        : p.n <= 24 ? batch_warp_kernel<24>
                                    : batch_warp_kernel<32>;
    DeviceFactors d(p);
    watch.tile(8);
    watch.tile(warps_of_block, "matrices");
    const auto launch = [&](cudaStream_t stream) {
        const auto blocks = static_cast<unsigned>(gpulab::ceil_div(p.count, std::size_t{warps_of_block}));
        kernel<<<blocks, warps_of_block * lanes, 0, stream>>>(d.lu.data(), d.pivots.data(), static_cast<int>(p.n),
                                                              p.count);
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.copy_to(f, true);
}

} // namespace lu
