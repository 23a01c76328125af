// Rung 5: in blocks. (Alfaro Vigo & Rossetto, section 3.3)
//
// Changed: the kernels of cuda_columns_pivot factorise a panel of 64 columns only. Then three kernels apply these 64
// steps to all other columns: they exchange rows, solve for 64 rows of U, and update the submatrix with one matrix
// product. The submatrix passes through global memory once for 64 columns instead of once for each.
// - All exchanges are done together. One after the other, each would wait for the one before it: 64 times the latency
//   of global memory. Here each block first finds where each row ends after all exchanges, then reads all rows that
//   move, and then writes them.
// - The update is a product as in lab 03, with 4 x 4 elements per thread.
// Limit: the panel: four launches per column, most of them too small to fill the device.
#include <algorithm>

#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"
#include "studies.hpp"

namespace lu {

namespace {

constexpr int most = max_panel_columns;
constexpr int lanes = 32;  // columns of a block, in exchanges and triangular solve
constexpr int groups = 8;  // rows that a block of these works on at a time
constexpr int side = 64;   // rows and columns of a block of the update
constexpr int depth = 16;  // of its tiles
constexpr int spread = 16; // threads along each side; a thread takes every 16th row and column

/// One block per 32 columns. The columns hole ... hole_end - 1 are left out.
__global__ void __launch_bounds__(lanes* groups)
    exchange_rows_kernel(DeviceMatrix d, int k0, int k1, int begin, int end, int hole, int hole_end) {
    __shared__ int steps[most];    // the pivots
    __shared__ int from[2 * most]; // rows that take part: those of the panel's diagonal, and the pivots'
    __shared__ int to[2 * most];   // where their contents go
    __shared__ double values[2 * most][lanes];
    const int width = k1 - k0, x = threadIdx.x, y = threadIdx.y, t = y * lanes + x;
    if (t < width) steps[t] = d.pivots[k0 + t];
    __syncthreads();

    if (t < 2 * width) {
        const int row = t < width ? k0 + t : steps[t - width];
        int at = row;
        for (int k = 0; k < width; ++k) {
            if (at == k0 + k) at = steps[k];
            else if (at == steps[k]) at = k0 + k;
        }
        from[t] = row; // a row that is named twice is moved twice, to the same place
        to[t] = at;
    }
    __syncthreads();

    int j = begin + blockIdx.x * lanes + x;
    if (j >= hole) j += hole_end - hole;
    for (int e = y; e < 2 * width; e += groups)
        if (j < end) values[e][x] = d.lu[std::size_t(from[e]) * d.n + j];
    __syncthreads(); // all is read before anything is written
    for (int e = y; e < 2 * width; e += groups)
        if (j < end && from[e] != to[e]) d.lu[std::size_t(to[e]) * d.n + j] = values[e][x];
}

/// One block per 32 columns of X.
__global__ void __launch_bounds__(lanes* groups)
    solve_unit_lower_kernel(const double* l, int l_stride, double* x, int x_stride, int rows, int columns) {
    __shared__ double lower[most][most];
    __shared__ double tile[most][lanes];
    const int lane = threadIdx.x, y = threadIdx.y, j = blockIdx.x * lanes + lane;
    for (int i = y; i < rows; i += groups) {
        for (int k = lane; k < i; k += lanes) lower[i][k] = l[std::size_t(i) * l_stride + k];
        tile[i][lane] = j < columns ? x[std::size_t(i) * x_stride + j] : 0;
    }
    __syncthreads();

    for (int k = 0; k + 1 < rows; ++k) { // row k is final: subtract multiples of it from all rows below
        for (int i = k + 1 + y; i < rows; i += groups) tile[i][lane] -= lower[i][k] * tile[k][lane];
        __syncthreads();
    }
    for (int i = y; i < rows; i += groups)
        if (j < columns) x[std::size_t(i) * x_stride + j] = tile[i][lane];
}

/// A block computes 64 x 64 elements of C, a thread 4 x 4 of them, 16 apart.
__global__ void __launch_bounds__(spread* spread)
    tiled_update_kernel(const double* a, int a_stride, const double* b, double* c, int stride, int m, int n, int k) {
    constexpr int each = side / spread;
    __shared__ double a_tile[depth][side + 1]; // transposed; one column more, so that stores have no bank conflicts
    __shared__ double b_tile[depth][side];
    const int x = threadIdx.x, y = threadIdx.y, t = y * spread + x;
    const int row = blockIdx.y * side, column = blockIdx.x * side;

    double sum[each][each] = {};
    for (int l0 = 0; l0 < k; l0 += depth) {
        for (int e = t; e < side * depth; e += spread * spread) { // outside A or B: 0
            const int i = e / depth, l = e % depth;
            a_tile[l][i] = row + i < m && l0 + l < k ? a[std::size_t(row + i) * a_stride + l0 + l] : 0;
        }
        for (int e = t; e < depth * side; e += spread * spread) {
            const int l = e / side, j = e % side;
            b_tile[l][j] = l0 + l < k && column + j < n ? b[std::size_t(l0 + l) * stride + column + j] : 0;
        }
        __syncthreads(); // the tiles are complete

#pragma unroll
        for (int l = 0; l < depth; ++l) {
            double left[each], right[each];
            for (int i = 0; i < each; ++i) left[i] = a_tile[l][y + i * spread];
            for (int j = 0; j < each; ++j) right[j] = b_tile[l][x + j * spread];
            for (int i = 0; i < each; ++i)
                for (int j = 0; j < each; ++j) sum[i][j] += left[i] * right[j];
        }
        __syncthreads(); // they may be overwritten
    }
    for (int i = 0; i < each; ++i)
        for (int j = 0; j < each; ++j) {
            const int r = row + y + i * spread, s = column + x + j * spread;
            if (r < m && s < n) c[std::size_t(r) * stride + s] -= sum[i][j];
        }
}

} // namespace

void exchange_rows(const DeviceMatrix& d, int k0, int k1, int begin, int end, int hole, int hole_end,
                   cudaStream_t stream) {
    const int columns = end - begin - (hole_end - hole);
    if (columns <= 0) return;
    exchange_rows_kernel<<<gpulab::grid_size(columns, lanes), dim3(lanes, groups), 0, stream>>>(d, k0, k1, begin, end,
                                                                                                hole, hole_end);
}

void solve_unit_lower(const double* l, int l_stride, double* x, int x_stride, int rows, int columns,
                      cudaStream_t stream) {
    if (rows <= 1 || columns <= 0) return;
    solve_unit_lower_kernel<<<gpulab::grid_size(columns, lanes), dim3(lanes, groups), 0, stream>>>(
        l, l_stride, x, x_stride, rows, columns);
}

void update_tiled(const double* a, int a_stride, const double* b, double* c, int stride, int m, int n, int k,
                  cudaStream_t stream) {
    if (m <= 0 || n <= 0) return;
    const dim3 blocks(gpulab::grid_size(n, side), gpulab::grid_size(m, side));
    tiled_update_kernel<<<blocks, dim3(spread, spread), 0, stream>>>(a, a_stride, b, c, stride, m, n, k);
}

void cuda_blocked_of_width(const Problem& p, Factors& f, Stopwatch& watch, int width) {
    DeviceFactors d(p);
    const DeviceMatrix a{d.lu.data(), static_cast<int>(p.n), d.pivots.data()};
    const int n = a.n;
    watch.tile(width).tile(side).tile(lanes).tile(depth);
    const auto launch = [&](cudaStream_t stream) {
        for (int k0 = 0; k0 < n; k0 += width) {
            const int k1 = std::min(k0 + width, n);
            factorise_columns(a, k0, k1, stream);
            exchange_rows(a, k0, k1, 0, n, k0, k1, stream);
            if (k1 == n) break;
            solve_unit_lower(a.at(k0, k0), n, a.at(k0, k1), n, k1 - k0, n - k1, stream);
            update_tiled(a.at(k1, k0), n, a.at(k0, k1), a.at(k1, k1), n, n - k1, n - k1, k1 - k0, stream);
        }
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.copy_to(f, true);
}

void cuda_blocked_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    cuda_blocked_of_width(p, f, watch, max_panel_columns);
}

} // namespace lu
