// Rung 3: a thread for each row, or for each column, of a tile. (Alfaro Vigo & Rossetto, exercise 3.4)
//
// Changed: a block has 32 threads for a tile of 32 x 32, and each thread updates 32 elements: with cuda_tile_rows those
// of a row, with cuda_tile_columns those of a column. A number that is the same for all 32, the thread's factor of L or
// of U, stays in a register.
// With a thread per column, a warp accesses 32 neighbours of one row at a time: each access is coalesced. With a thread
// per row, a warp accesses one element in each of 32 rows: 32 sectors. The next three elements are in the same sectors,
// if the cache still holds them.
// Limit: memory, as before; and one warp per block, so that few loads are in flight.
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"

namespace lu {

namespace {

constexpr int tile = 32;

/// Divides column i below the diagonal by the pivot; one thread per row.
__global__ void scale_kernel(double* lu, int n, int i) {
    // ANSWER two-kernels
    const int j = i + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) lu[std::size_t(j) * n + i] /= lu[std::size_t(i) * n + i];
    // END ANSWER
}

/// A thread per row of the tile.
__global__ void tile_rows_kernel(double* lu, int n, int i) {
    const int j = i + 1 + blockIdx.y * tile + threadIdx.x;
    const int begin = i + 1 + blockIdx.x * tile, end = min(begin + tile, n);
    if (j >= n) return;
    const double l = lu[std::size_t(j) * n + i];
    for (int k = begin; k < end; ++k) lu[std::size_t(j) * n + k] -= l * lu[std::size_t(i) * n + k];
}

/// A thread per column of the tile.
__global__ void tile_columns_kernel(double* lu, int n, int i) {
    const int k = i + 1 + blockIdx.x * tile + threadIdx.x;
    const int begin = i + 1 + blockIdx.y * tile, end = min(begin + tile, n);
    if (k >= n) return;
    const double u = lu[std::size_t(i) * n + k];
    for (int j = begin; j < end; ++j) lu[std::size_t(j) * n + k] -= lu[std::size_t(j) * n + i] * u;
}

using UpdateKernel = void(double*, int, int);

void eliminate(UpdateKernel* update, const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr unsigned threads = 128; // of the scaling
    DeviceFactors d(p);
    const int n = static_cast<int>(p.n);
    const auto launch = [&](cudaStream_t stream) {
        for (int i = 0; i + 1 < n; ++i) {
            const unsigned blocks = gpulab::grid_size(n - i - 1, tile);
            scale_kernel<<<gpulab::grid_size(n - i - 1, threads), threads, 0, stream>>>(d.lu.data(), n, i);
            update<<<dim3(blocks, blocks), tile, 0, stream>>>(d.lu.data(), n, i);
        }
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.copy_to(f, false);
}

} // namespace

void cuda_tile_rows(const Problem& p, Factors& f, Stopwatch& watch) { eliminate(tile_rows_kernel, p, f, watch); }
void cuda_tile_columns(const Problem& p, Factors& f, Stopwatch& watch) { eliminate(tile_columns_kernel, p, f, watch); }

} // namespace lu
