// Each kernel has one mistake. The right ones are in labs/07_lu/cuda: 01_two_kernels.cu, 04_columns_pivot.cu and
// 05_blocked_pivot.cu.
#include <algorithm>
#include <array>

#include "cuda/device_factors.hpp"
#include "cuda/steps.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "wrong_lu.hpp"

namespace lu::wrong {

namespace {

enum class Mistake {
    none,
    // without pivoting
    uploads_to_the_host,
    no_pivot_barrier,
    scales_twice,
    one_column_short,
    past_the_edge,
    whole_tiles_only,
    tile_index_for_row,
    // with pivoting
    no_absolute_value,
    right_only,
    one_row_per_thread,
    any_of_equals,
    no_barrier,
    pivot_of_the_column_before,
    // in blocks
    last_panel_column,
    rows_of_u_not_solved,
};

constexpr int tile = 16;
constexpr unsigned search_threads = 128;

/// Holds a thread back for longer than the others take for a load from global memory.
__device__ void wait() {
    asm volatile("" ::: "memory");
    for (int i = 0; i < 4; ++i) __nanosleep(20000);
    asm volatile("" ::: "memory");
}

template <Mistake m> __global__ void search(const double* lu, int* pivots, int n, int k) {
    __shared__ double best[search_threads];
    __shared__ int row[search_threads];
    const int t = threadIdx.x;
    double largest = -1;
    int where = k;
    const int end = m == Mistake::one_row_per_thread ? min(n, k + int(search_threads)) : n;
    for (int j = k + t; j < end; j += search_threads) {
        const double x = lu[std::size_t(j) * n + k], magnitude = m == Mistake::no_absolute_value ? x : fabs(x);
        if (magnitude > largest) largest = magnitude, where = j;
    }
    best[t] = largest, row[t] = where;
    __syncthreads();
    for (int distance = search_threads / 2; distance > 0; distance /= 2) {
        if (t < distance) {
            const double other = best[t + distance];
            const bool earlier = m != Mistake::any_of_equals && other == best[t] && row[t + distance] < row[t];
            if (other > best[t] || earlier) best[t] = other, row[t] = row[t + distance];
        }
        if (m != Mistake::no_barrier) __syncthreads();
    }
    if (t == 0) pivots[k] = row[0];
}

template <Mistake m> __global__ void exchange(double* lu, const int* pivots, int n, int k) {
    const int j = (m == Mistake::right_only ? k : 0) + blockIdx.x * blockDim.x + threadIdx.x;
    const int p = pivots[m == Mistake::pivot_of_the_column_before && k > 0 ? k - 1 : k];
    if (j >= n || p == k) return;
    const double kept = lu[std::size_t(k) * n + j];
    lu[std::size_t(k) * n + j] = lu[std::size_t(p) * n + j];
    lu[std::size_t(p) * n + j] = kept;
}

template <Mistake m> __global__ void scale(double* lu, int n, int k) {
    __shared__ double pivot;
    if (threadIdx.x == 0) {
        if (m == Mistake::no_pivot_barrier) wait(); // by chance the others would find it: here they never do
        pivot = lu[std::size_t(k) * n + k];
    }
    if (m != Mistake::no_pivot_barrier) __syncthreads();
    const int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) lu[std::size_t(j) * n + k] /= pivot;
}

/// @param end the columns before this one are updated
template <Mistake m> __global__ void update(double* lu, int n, int k, int end) {
    const int y = blockIdx.y * tile + threadIdx.y, x = blockIdx.x * tile + threadIdx.x;
    const int i = k + 1 + y, j = k + 1 + x;
    if (m == Mistake::one_column_short) end = n - 1;
    if (m == Mistake::past_the_edge) end = n + 1;
    if (m == Mistake::whole_tiles_only) end = k + 1 + (n - k - 1) / tile * tile;
    if (i >= n || j >= end) return;
    double l = lu[std::size_t(m == Mistake::tile_index_for_row ? k + 1 + int(threadIdx.y) : i) * n + k];
    if (m == Mistake::scales_twice) l /= lu[std::size_t(k) * n + k]; // it is divided already
    lu[std::size_t(i) * n + j] -= l * lu[std::size_t(k) * n + j];
}

template <Mistake m, bool pivoting> void factorise(const Problem& p, Factors& f, Stopwatch& watch) {
    DeviceFactors d(p);
    const int n = static_cast<int>(p.n);
    watch.tile(tile), watch.tile(search_threads);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            for (int k = 0; k < n; ++k) {
                if (pivoting) {
                    search<m><<<1, search_threads, 0, stream>>>(d.lu.data(), d.pivots.data(), n, k);
                    exchange<m><<<gpulab::grid_size(n, 64), 64, 0, stream>>>(d.lu.data(), d.pivots.data(), n, k);
                }
                scale<m><<<gpulab::grid_size(n - k - 1, 64), 64, 0, stream>>>(d.lu.data(), n, k);
                const unsigned rows = gpulab::grid_size(n - k - 1, tile), columns = gpulab::grid_size(n - k, tile);
                update<m><<<dim3(columns, rows), dim3(tile, tile), 0, stream>>>(d.lu.data(), n, k, n);
            }
        },
        [&](cudaStream_t stream) {
            if (m == Mistake::uploads_to_the_host) { // program 3.11: what is on the device goes to the host
                std::vector<double> host = p.a;
                d.lu.poison_async(stream);
                CUDA_CHECK(cudaMemcpyAsync(host.data(), d.lu.data(), d.lu.bytes(), cudaMemcpyDeviceToHost, stream));
                CUDA_CHECK(cudaStreamSynchronize(stream));
                gpulab::poison(d.pivots, stream);
            } else {
                d.restore(stream);
            }
        });
    d.copy_to(f, pivoting);
}

/// With pivoting, in panels of 24 columns. The rows are exchanged as a whole, so only the triangular solve and the
/// update are left to do after a panel.
template <Mistake m> void factorise_blocked(const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr int width = 24;
    DeviceFactors d(p);
    const DeviceMatrix a{d.lu.data(), static_cast<int>(p.n), d.pivots.data()};
    const int n = a.n;
    watch.tile(width), watch.tile(tile), watch.tile(search_threads);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            for (int k0 = 0; k0 < n; k0 += width) {
                const int k1 = std::min(k0 + width, n);
                const int end = m == Mistake::last_panel_column && k1 < n ? k1 - 1 : k1;
                for (int k = k0; k < k1; ++k) {
                    search<m><<<1, search_threads, 0, stream>>>(a.lu, a.pivots, n, k);
                    exchange<m><<<gpulab::grid_size(n, 64), 64, 0, stream>>>(a.lu, a.pivots, n, k);
                    scale<m><<<gpulab::grid_size(n - k - 1, 64), 64, 0, stream>>>(a.lu, n, k);
                    const unsigned rows = gpulab::grid_size(n - k - 1, tile), columns = gpulab::grid_size(k1 - k, tile);
                    update<m><<<dim3(columns, rows), dim3(tile, tile), 0, stream>>>(a.lu, n, k, end);
                }
                if (m != Mistake::rows_of_u_not_solved)
                    solve_unit_lower(a.at(k0, k0), n, a.at(k0, k1), n, k1 - k0, n - k1, stream);
                update_tiled(a.at(k1, k0), n, a.at(k0, k1), n, a.at(k1, k1), n, n - k1, n - k1, k1 - k0, stream);
            }
        },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, true);
}

#define WRONG(name, mistake, pivoting, ...) \
    WrongVariant { #name, mistake, factorise < Mistake::name, pivoting>, __VA_ARGS__ }

} // namespace

void cuda_right(const Problem& p, Factors& f, Stopwatch& watch) { factorise<Mistake::none, false>(p, f, watch); }
void cuda_right_pivot(const Problem& p, Factors& f, Stopwatch& watch) { factorise<Mistake::none, true>(p, f, watch); }
void cuda_right_blocked(const Problem& p, Factors& f, Stopwatch& watch) {
    factorise_blocked<Mistake::none>(p, f, watch);
}

std::span<const WrongVariant> cuda_plain() {
    static const std::array table = {
        WRONG(uploads_to_the_host, "the matrix is copied from the device to the host (program 3.11)", false),
        WRONG(no_pivot_barrier, "the pivot is read before it is there", false),
        WRONG(scales_twice, "the update divides the column that is divided already", false),
        WRONG(one_column_short, "the update leaves out the last column", false),
        WRONG(past_the_edge, "<= n for < n in the update", false),
        WRONG(whole_tiles_only, "the update leaves out the columns that fill no tile", false),
        WRONG(tile_index_for_row, "threadIdx.y for the row: every tile takes the column of the first", false),
    };
    return table;
}

std::span<const WrongVariant> cuda_pivoting() {
    static const std::array table = {
        WRONG(no_absolute_value, "the largest element, not the largest magnitude", true),
        WRONG(right_only, "the rows are exchanged to the right of the diagonal only", true),
        WRONG(one_row_per_thread, "the search has no loop: a column longer than the block is not seen whole", true),
        WRONG(any_of_equals, "of equal candidates any wins, not the first row", true, by_special),
        WRONG(pivot_of_the_column_before, "the pivot of the step before is exchanged", true),
        WRONG(no_barrier, "a step of the search reads what others may not have written yet", true, "",
              Forgiven::by_all),
    };
    return table;
}

std::span<const WrongVariant> cuda_blocked() {
    static const std::array table = {
        WrongVariant{"last_panel_column", "the last column of a panel is left out",
                     factorise_blocked<Mistake::last_panel_column>},
        WrongVariant{"rows_of_u_not_solved", "no triangular solve", factorise_blocked<Mistake::rows_of_u_not_solved>},
    };
    return table;
}

} // namespace lu::wrong
