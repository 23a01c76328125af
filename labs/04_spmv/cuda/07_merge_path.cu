// Rung 7: merge path. Every thread gets the same share of work, whatever the lengths of the rows.
//
// Changed: what is shared out. Multiplying is one step per non-zero, and finishing a row is one step per row. Both
// lists are merged into one list of nonzeros + rows steps in a fixed order: the non-zeros of row 0, "row 0 is done",
// the non-zeros of row 1, ... This list is cut into equal pieces, so a piece may begin and end in the middle of a row.
// To find where step d lies in the two lists, a thread searches the diagonal row + non-zero = d of the merge grid by
// bisection. (Merrill and Garland, SC 2016.)
//
//               a   b   c   d   e      to the right: a non-zero is multiplied; down: a row is done
//     row 0   +---+---+
//                     |                row 1 has no non-zeros
//     row 1           +
//                     |
//     row 2           +---+---+---+    three pieces of up to three steps:
//                                 |        a, b, "row 0 is done"
//                                 +        "row 1 is done", c, d: c + d is carried out
//                                          e, "row 2 is done"
//
//   1. A block takes a tile of steps. It loads the tile's non-zeros side by side and keeps their products in shared
//      memory, together with the ends of the tile's rows. A tile begins anywhere in the list of non-zeros, so the loads
//      begin at the multiple of 32 before it: a warp then reads whole lines of 128 bytes, and shares none of them with
//      its neighbours. With random columns, the number of requests to the L2 cache is the limit. Of threads * items
//      places, up to 31 are lost to entries before the tile: so a tile has 32 steps fewer than places.
//   2. Each thread searches its own diagonal in shared memory, then takes `items` steps: add a product or finish a row.
//   3. The sum that a thread is left with, its carry-out, belongs to a row that a later thread finishes. Carry-outs of
//      the same row are added up across the warp, then added to the row's sum in shared memory.
//   4. The sum of the row that a block leaves unfinished goes to a list. A second, small kernel adds the list to y. Its
//      blocks come onto the multiprocessors while the first kernel still runs, and wait there until it has ended.
// The first step of each tile depends on row_start only. It is found once per matrix, outside the timing.
// Limit: with random columns the gather of x, because each entry fetches a sector of 32 bytes from the L2 cache and
// uses 4 or 8 of them. With regular columns, the searches and the passing of products through shared memory.
#include "device_problem.hpp"
#include "gpulab/cuda/early_launch.hpp"
#include "gpulab/cuda/timing.hpp"

namespace spmv {

/// Where a diagonal of the merge grid meets the path: rows finished and non-zeros multiplied so far.
struct MergePoint {
    int row;
    int nonzero;
};

/// Searches one diagonal of the merge grid.
/// @param diagonal how many steps have been taken: row + nonzero of the result
/// @param row_end row_end[i], for i < rows, is where row i ends in the list of non-zeros
__device__ inline MergePoint find_merge_point(long long diagonal, const int* row_end, int rows, int nonzeros) {
    long long low = diagonal > nonzeros ? diagonal - nonzeros : 0;
    long long high = diagonal < rows ? diagonal : rows;
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (row_end[middle] < diagonal - middle) low = middle + 1; // row `middle` is done before this step
        else high = middle;
    }
    return {static_cast<int>(low), static_cast<int>(diagonal - low)};
}

/// point[b] is where tile b begins; point[tiles] is the end of the path.
__global__ void merge_points_kernel(const int* row_start, int rows, int nonzeros, MergePoint* point, unsigned tiles,
                                    unsigned tile) {
    const unsigned b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b > tiles) return;
    const long long steps = static_cast<long long>(rows) + nonzeros;
    const long long diagonal = min(static_cast<long long>(b) * tile, steps);
    point[b] = find_merge_point(diagonal, row_start + 1, rows, nonzeros);
}

/// Steps of a tile.
__host__ __device__ constexpr unsigned merge_tile(unsigned threads, unsigned items) { return threads * items - 32; }

/// One tile per block.
/// @param carry_out carry_out[b] becomes the part of row point[b + 1].row that block b adds up but does not finish
template <class T, unsigned threads, unsigned items>
__global__ void __launch_bounds__(threads)
    merge_path_kernel(const int* __restrict__ row_start, const int* __restrict__ column, const T* __restrict__ value,
                      const T* __restrict__ x, T* __restrict__ y, const MergePoint* __restrict__ point,
                      T* __restrict__ carry_out) {
    constexpr int tile = static_cast<int>(merge_tile(threads, items));
    __shared__ T slot[tile + 32]; // first the products of the tile, then the sum of each of its rows
    __shared__ int row_end[tile + 1];

    gpulab::let_next_kernel_begin();
    const MergePoint begin = point[blockIdx.x], end = point[blockIdx.x + 1];
    const int rows = end.row - begin.row;             // finished in this tile
    const int nonzeros = end.nonzero - begin.nonzero; // rows + nonzeros <= tile
    const int me = static_cast<int>(threadIdx.x);
    const int first = begin.nonzero & 31, base = begin.nonzero - first; // offsets below count from base
    const int last = first + nonzeros;

    // 1. All loads of the matrix come before the first gather of x, so that they are in flight together.
    int j[items];
    T v[items];
#pragma unroll
    for (int n = 0; n < static_cast<int>(items); ++n) {
        const int k = n * static_cast<int>(threads) + me;
        const bool mine = (n > 0 || k >= first) && k < last; // first < threads: only round 0 has entries before it
        j[n] = mine ? __ldcs(&column[base + k]) : 0;
        v[n] = mine ? __ldcs(&value[base + k]) : T{0};
    }
    for (int i = me; i < rows; i += threads) row_end[i] = row_start[begin.row + i + 1] - base;
#pragma unroll
    for (int n = 0; n < static_cast<int>(items); ++n) {
        const int k = n * static_cast<int>(threads) + me;
        if ((n > 0 || k >= first) && k < last) slot[k] = v[n] * x[j[n]];
    }
    T* const row_sum = slot + last; // rows + 1 of them
    if (me == 0) row_sum[rows] = 0; // of the unfinished row
    __syncthreads();

    // 2. This thread's steps.
    const int steps = rows + nonzeros;
    const int diagonal = min(me * static_cast<int>(items), steps);
    int row, k;
    {
        int low = max(0, diagonal - nonzeros), high = min(diagonal, rows);
        while (low < high) {
            const int middle = (low + high) / 2;
            if (row_end[middle] - first < diagonal - middle) low = middle + 1;
            else high = middle;
        }
        row = low;
        k = first + diagonal - low;
    }
    T sum = 0;
#pragma unroll
    for (int n = 0; n < static_cast<int>(items); ++n) {
        if (diagonal + n >= steps) break;
        if (row == rows || k < row_end[row]) {
            sum += slot[k++];
        } else {
            row_sum[row++] = sum;
            sum = 0;
        }
    }
    __syncthreads();

    // 3. Carry-outs. Row numbers rise with the lane, so the carry-outs of one row lie in consecutive lanes: after this
    // loop the first lane of each such run holds its total.
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const T other = __shfl_down_sync(0xFFFFFFFFu, sum, distance);
        const int other_row = __shfl_down_sync(0xFFFFFFFFu, row, distance);
        if (lane + distance < 32 && other_row == row) sum += other;
    }
    const int row_before = __shfl_up_sync(0xFFFFFFFFu, row, 1);
    if (lane == 0 || row_before != row) atomicAdd(&row_sum[row], sum);
    __syncthreads();

    for (int i = me; i < rows; i += threads) __stcs(&y[begin.row + i], row_sum[i]);
    if (me == 0) carry_out[blockIdx.x] = row_sum[rows];
}

/// 4. Adds the carry-outs of blocks to the rows that later blocks finished.
template <class T>
__global__ void carry_out_kernel(const MergePoint* point, const T* carry_out, T* y, int rows, unsigned tiles) {
    const unsigned b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= tiles) return;
    const int row = point[b + 1].row; // neither kernel writes it
    gpulab::await_kernel_before();
    if (row < rows && carry_out[b] != T{0}) atomicAdd(&y[row], carry_out[b]); // several blocks may share a long row
}

template <class T> void cuda_merge_path(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    constexpr unsigned threads = 256, items = 5, tile = merge_tile(threads, items); // items is odd: no bank conflicts
    const DeviceProblem<T> a(p);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    // Preparation: once per matrix.
    const unsigned tiles = gpulab::grid_size(p.matrix.rows + p.matrix.nonzeros(), tile);
    gpulab::DeviceBuffer<MergePoint> point(tiles + std::size_t{1});
    gpulab::DeviceBuffer<T> carry_out(tiles);
    constexpr unsigned searches = 256; // threads per block that search, and that add carry-outs
    merge_points_kernel<<<gpulab::grid_size(tiles + std::size_t{1}, searches), searches>>>(
        a.row_start.data(), a.rows, a.nonzeros, point.data(), tiles, tile);
    CUDA_CHECK_LAUNCH();
    CUDA_CHECK(cudaDeviceSynchronize());

    watch.tile(items, "items"); // rows and non-zeros: of a thread, of a block, of a block of carry-outs
    watch.tile(tile, "items");
    watch.tile(searches * std::size_t{tile}, "items");
    const auto launch = [&](cudaStream_t stream) {
        merge_path_kernel<T, threads, items><<<tiles, threads, 0, stream>>>(a.row_start.data(), a.column.data(),
                                                                            a.value.data(), a.x.data(), out.data(),
                                                                            point.data(), carry_out.data());
        gpulab::launch_early(carry_out_kernel<T>, gpulab::grid_size(tiles, searches), searches, stream, point.data(),
                             carry_out.data(), out.data(), a.rows, tiles);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out, carry_out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_merge_path);

} // namespace spmv
