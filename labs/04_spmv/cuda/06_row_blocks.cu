// Rung 6: a block streams the non-zeros of its rows through shared memory.
//
// Changed: reading the matrix and adding up the rows are now two steps, each with its own mapping of threads to work.
//   1. The threads of a block take a tile of consecutive non-zeros, whatever rows these belong to. Each thread loads 16
//      bytes at a time and stores four products in shared memory. Every lane has entries, whatever the rows look like.
//   2. After a barrier, one thread per row adds up the row's products. Shared memory needs no coalesced loads.
// Tile b is the non-zeros b * tile ... (b + 1) * tile - 1, and block b takes the rows that begin in it. The last of
// them may end beyond the tile; all threads of the block then add up its remaining entries together. Which rows begin
// in which tile depends on row_start only. It is found by binary search, once per matrix and outside the timing. (Known
// as CSR-stream: Greathouse and Daga, SC 2014.)
// __launch_bounds__ tells the compiler the size of the block, and so how many registers a thread may have.
// Limit: one very long row. A row of a million non-zeros is the work of a single block, and all others finish long
// before it.
#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "streaming.cuh"

namespace spmv {

/// first_row[b] is the first row that begins at or after non-zero b * tile, for b = 0 ... tiles - 1, so that
/// block b takes rows first_row[b] ... first_row[b + 1] - 1. first_row[tiles] is the number of rows.
__global__ void first_rows_kernel(const int* row_start, int rows, int* first_row, unsigned tiles, unsigned tile) {
    const unsigned b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b > tiles) return;
    unsigned low = 0, high = static_cast<unsigned>(rows); // the answer is in low ... high
    if (b == tiles) low = high;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (static_cast<unsigned>(row_start[middle]) < b * tile) low = middle + 1;
        else high = middle;
    }
    first_row[b] = static_cast<int>(low);
}

/// A block of `threads` threads takes the rows that begin in a tile of 4 * threads * items non-zeros.
template <class T, unsigned threads, unsigned items>
__global__ void __launch_bounds__(threads)
    row_blocks_kernel(const int* __restrict__ row_start, const int* __restrict__ column, const T* __restrict__ value,
                      const T* __restrict__ x, T* __restrict__ y, const int* __restrict__ first_row) {
    constexpr unsigned tile = 4 * threads * items;
    __shared__ __align__(16) T product[tile];
    __shared__ T warp_sum[threads / 32];

    const int row_begin = first_row[blockIdx.x], row_end = first_row[blockIdx.x + 1];
    if (row_begin == row_end) return;        // for the whole block: no row begins in this tile
    const unsigned base = blockIdx.x * tile; // unsigned: base + tile may pass 2^31
    const unsigned begin = static_cast<unsigned>(row_start[row_begin]) - base; // offsets below count from base
    const unsigned end = static_cast<unsigned>(row_start[row_end]) - base;     // may lie beyond the tile
    const unsigned inside = min(end, tile);

    // 1. Products. All loads of the matrix come before the first use, so that they are in flight together.
    int j[items][4];
    T v[items][4];
#pragma unroll
    for (unsigned n = 0; n < items; ++n) {
        const unsigned k = 4 * (n * threads + threadIdx.x);
        if (k + 4 <= inside && k + 4 > begin) { // base is a multiple of 4, so the address is a multiple of 16
            const int4 c = load_once4(column + base + k);
            j[n][0] = c.x;
            j[n][1] = c.y;
            j[n][2] = c.z;
            j[n][3] = c.w;
            load_once4(value + base + k, v[n]);
        } else {
#pragma unroll
            for (unsigned m = 0; m < 4; ++m) {
                const bool mine = k + m >= begin && k + m < inside;
                j[n][m] = mine ? column[base + k + m] : 0;
                v[n][m] = mine ? value[base + k + m] : T{0};
            }
        }
    }
#pragma unroll
    for (unsigned n = 0; n < items; ++n) {
        const unsigned k = 4 * (n * threads + threadIdx.x);
        if (k < inside) {
#pragma unroll
            for (unsigned m = 0; m < 4; ++m) product[k + m] = v[n][m] * x[j[n][m]];
        }
    }
    __syncthreads();

    // 2. Sums: a thread per row. The last row is left for later if it does not end in this tile.
    const bool long_row = end > tile;
    const int whole_rows = row_end - (long_row ? 1 : 0);
    for (int i = row_begin + static_cast<int>(threadIdx.x); i < whole_rows; i += threads) {
        const unsigned last = static_cast<unsigned>(row_start[i + 1]) - base;
        T sum = 0;
        for (unsigned k = static_cast<unsigned>(row_start[i]) - base; k < last; ++k) sum += product[k];
        y[i] = sum;
    }
    if (!long_row) return; // for the whole block

    T sum = 0;
    for (unsigned k = static_cast<unsigned>(row_start[row_end - 1]) - base + threadIdx.x; k < tile; k += threads)
        sum += product[k];
    for (unsigned k = tile + threadIdx.x; k < end; k += threads) sum += value[base + k] * x[column[base + k]];
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, distance);
    if (threadIdx.x % 32 == 0) warp_sum[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < threads / 32; ++w) sum += warp_sum[w];
        y[row_end - 1] = sum;
    }
}

template <class T> void cuda_row_blocks(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    constexpr unsigned threads = 128, items = sizeof(T) == 4 ? 3 : 1, tile = 4 * threads * items; // fastest on an H200
    const DeviceProblem<T> a(p);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    // Preparation: once per matrix.
    const unsigned tiles = gpulab::grid_size(p.matrix.nonzeros(), tile);
    gpulab::DeviceBuffer<int> first_row(tiles + std::size_t{1});
    constexpr unsigned searches = 256; // threads per block
    first_rows_kernel<<<gpulab::grid_size(tiles + std::size_t{1}, searches), searches>>>(a.row_start.data(), a.rows,
                                                                                         first_row.data(), tiles, tile);
    CUDA_CHECK_LAUNCH();
    CUDA_CHECK(cudaDeviceSynchronize());

    watch.tile(tile, "nnz");
    watch.tile(searches * std::size_t{tile}, "nnz");
    watch.tile(threads, "rows"); // that a block adds up at a time
    const auto launch = [&](cudaStream_t stream) {
        row_blocks_kernel<T, threads, items><<<tiles, threads, 0, stream>>>(
            a.row_start.data(), a.column.data(), a.value.data(), a.x.data(), out.data(), first_row.data());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_row_blocks);

} // namespace spmv
