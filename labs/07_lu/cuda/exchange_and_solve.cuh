/// @file
/// One kernel exchanges rows and solves for U: a warp keeps eight rows of U in registers, and there is one barrier for
/// eight rows. For cuda_critical_path_pivot.
#pragma once

#include "early.cuh"
#include "gpulab/cuda/check.hpp"
#include "gpulab/math.hpp"
#include "steps.hpp"

namespace lu {

inline constexpr int lanes = 32; // columns of a block
inline constexpr int warps = 8;
inline constexpr int per_warp = max_panel_columns / warps; // rows of U

/// Copies L's block of `width` rows to shared memory, without the ones on its diagonal; 0 elsewhere.
__device__ __forceinline__ void load_lower(double (&lower)[max_panel_columns][max_panel_columns], const DeviceMatrix& d,
                                           int k0, int width) {
    const int t = threadIdx.x, lane = t % lanes, warp = t / lanes;
#pragma unroll
    for (int i0 = 0; i0 < max_panel_columns; i0 += warps) // constant bounds: all loads are under way together
#pragma unroll
        for (int l0 = 0; l0 < max_panel_columns; l0 += lanes) {
            const int i = i0 + warp, k = l0 + lane;
            lower[i][k] = i < width && k < i ? d.lu[std::size_t(k0 + i) * d.n + k0 + k] : 0;
        }
}

/// The row whose contents come to row `at` through all exchanges: from the last one back to the first. With the
/// exchanges (0, 2) and (1, 2), row 2 gets what was in row 1, row 1 what was in row 0, row 0 what was in row 2:
///
///     row 0    A    C    C
///     row 1    B    B    A
///     row 2    C    A    B
///                ^    ^
///           (0, 2)    (1, 2)
__device__ __forceinline__ int origin_of(int at, const int (&steps)[max_panel_columns], int k0, int width) {
#pragma unroll 8
    for (int k = width - 1; k >= 0; --k) {
        const int pivot = steps[k];
        at = at == k0 + k ? pivot : at == pivot ? k0 + k : at;
    }
    return at;
}

/// Solves for U. A warp has `per_warp` rows of its lanes' columns in registers, x; they become final warp by warp:
///
///     b = 0    warp 0 solves    warps 1, 2, ... subtract multiples of its rows
///     b = 1                     warp 1 solves    warps 2, 3, ... subtract
///
/// @param solved the final rows, for even and odd warps: others may still read those of the warp before
__device__ __forceinline__ void solve_rows(double (&x)[per_warp],
                                           const double (&lower)[max_panel_columns][max_panel_columns],
                                           double (&solved)[2][per_warp][lanes], int width) {
    const int t = threadIdx.x, lane = t % lanes, warp = t / lanes;
    for (int b = 0; b * per_warp < width; ++b) {
        if (warp == b) {
#pragma unroll
            for (int k = 0; k < per_warp; ++k) {
                solved[b % 2][k][lane] = x[k];
#pragma unroll
                for (int i = k + 1; i < per_warp; ++i) x[i] -= lower[b * per_warp + i][b * per_warp + k] * x[k];
            }
        }
        __syncthreads(); // the rows of warp b are final
        if (warp > b) {
#pragma unroll
            for (int k = 0; k < per_warp; ++k)
#pragma unroll
                for (int i = 0; i < per_warp; ++i)
                    x[i] -= lower[warp * per_warp + i][b * per_warp + k] * solved[b % 2][k][lane];
        }
    }
}

/// Exchanges rows as exchange_rows() does, and solves as solve_unit_lower() does. One block per 32 columns.
static __global__ void __launch_bounds__(lanes* warps)
    exchange_and_solve_kernel(DeviceMatrix d, int k0, int k1, int begin, int end) {
    __shared__ int steps[max_panel_columns];    // the pivots
    __shared__ int from[2 * max_panel_columns]; // rows whose contents come to the diagonal, and to the pivots' rows
    __shared__ double lower[max_panel_columns][max_panel_columns];
    __shared__ double solved[2][per_warp][lanes];
    const int t = threadIdx.x, lane = t % lanes, warp = t / lanes, width = k1 - k0;
    const int j = begin + blockIdx.x * lanes + lane;
    const bool inside = j < end, solve = begin >= k1;
    wait_for_previous();
    if (t < max_panel_columns) steps[t] = t < width ? d.pivots[k0 + t] : -1;
    if (solve) load_lower(lower, d, k0, width);
    __syncthreads();

    if (t < 2 * max_panel_columns) {
        const int at = t >= max_panel_columns ? steps[t - max_panel_columns] : t < width ? k0 + t : -1;
        from[t] = origin_of(at, steps, k0, width);
    }
    __syncthreads();

    double x[per_warp], moved[per_warp];
#pragma unroll
    for (int i = 0; i < per_warp; ++i) {
        const int e = warp * per_warp + i;
        const bool takes_part = e < width && inside;
        x[i] = takes_part ? d.lu[std::size_t(from[e]) * d.n + j] : 0;
        moved[i] = takes_part && steps[e] >= k1 ? d.lu[std::size_t(from[max_panel_columns + e]) * d.n + j] : 0;
    }
    __syncthreads(); // all is read before anything is written
#pragma unroll
    for (int i = 0; i < per_warp; ++i) { // a row that is named twice is written twice, with the same contents
        const int e = warp * per_warp + i;
        if (e < width && inside && steps[e] >= k1) d.lu[std::size_t(steps[e]) * d.n + j] = moved[i];
    }

    if (solve) solve_rows(x, lower, solved, width);
#pragma unroll
    for (int i = 0; i < per_warp; ++i)
        if (warp * per_warp + i < width && inside) d.lu[std::size_t(k0 + warp * per_warp + i) * d.n + j] = x[i];
}

inline void exchange_and_solve(const DeviceMatrix& d, int k0, int k1, int begin, int end, cudaStream_t stream) {
    if (begin >= end) return;
    launch_in_chain(exchange_and_solve_kernel, gpulab::grid_size(end - begin, lanes), lanes * warps, 0, stream,
                    end - begin, d, k0, k1, begin, end);
}

} // namespace lu
