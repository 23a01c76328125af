/// @file
/// Products whose C has few rows or few columns: tiles would be nearly empty. Memory is the limit: each element of the
/// larger matrix is loaded once, by neighbouring threads in the order in which it is stored.
#pragma once

#include <cstddef>

#include "gpulab/math.hpp"

namespace matmul {

inline constexpr int thin_threads = 256, thin_warps = thin_threads / 32;
inline constexpr int rows_of_block = 4; ///< of A and C, in thin_columns_kernel

/// C has at most `rows` rows. A block computes 32 * width columns of it, a lane `width` neighbouring ones. The warps of
/// the block share k: each takes one row of B at a time. Block (x, y) takes part y of k, which has `part` rows of B,
/// and writes its sums to C number y: there are as many as k has parts.
template <int rows, int width>
__global__ void __launch_bounds__(thin_threads)
    thin_rows_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k,
                     int n, int part) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, j = (blockIdx.x * 32 + lane) * width;
    const int begin = blockIdx.y * part, end = min(k - begin, part) + begin;
    float sum[rows][width] = {};
    if (j < n)
#pragma unroll 4
        for (int l = begin + warp; l < end; l += thin_warps) {
            const float* const from = b + std::size_t(l) * n + j;
            float right[width];
            if constexpr (width == 4) *reinterpret_cast<float4*>(right) = *reinterpret_cast<const float4*>(from);
            else right[0] = from[0];
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const float left = a[std::size_t(min(i, m - 1)) * k + l]; // beyond the last row: that row again
#pragma unroll
                for (int e = 0; e < width; ++e) sum[i][e] += left * right[e];
            }
        }
    __shared__ float of_warp[thin_warps][rows][32 * width];
#pragma unroll
    for (int i = 0; i < rows; ++i)
#pragma unroll
        for (int e = 0; e < width; ++e) of_warp[warp][i][lane * width + e] = sum[i][e];
    __syncthreads(); // the sums of all warps are there
    for (int e = threadIdx.x; e < rows * 32 * width; e += thin_threads) {
        const int i = e / (32 * width), column = e % (32 * width), s = blockIdx.x * 32 * width + column;
        if (i >= m || s >= n) continue;
        float all = 0;
        for (int w = 0; w < thin_warps; ++w) all += of_warp[w][i][column];
        c[(std::size_t(blockIdx.y) * m + i) * n + s] = all;
    }
}

/// C has at most `columns` columns. A block computes four of its rows; its threads share k: thread t takes elements t,
/// t + 256, ... of each of the four rows of A.
template <int columns>
__global__ void __launch_bounds__(thin_threads)
    thin_columns_kernel(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int k,
                        int n) {
    const int t = threadIdx.x, row = blockIdx.x * rows_of_block;
    float sum[rows_of_block][columns] = {};
#pragma unroll 2
    for (int l = t; l < k; l += thin_threads) {
        float left[rows_of_block];
#pragma unroll
        for (int i = 0; i < rows_of_block; ++i) left[i] = a[std::size_t(min(row + i, m - 1)) * k + l];
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            const float right = b[std::size_t(l) * n + min(j, n - 1)];
#pragma unroll
            for (int i = 0; i < rows_of_block; ++i) sum[i][j] += left[i] * right;
        }
    }
    __shared__ float of_warp[thin_warps][rows_of_block][columns];
#pragma unroll
    for (int i = 0; i < rows_of_block; ++i)
#pragma unroll
        for (int j = 0; j < columns; ++j) {
            float all = sum[i][j];
            for (int distance = 16; distance > 0; distance /= 2) all += __shfl_xor_sync(0xffffffffu, all, distance);
            if (t % 32 == 0) of_warp[t / 32][i][j] = all;
        }
    __syncthreads();
    if (t >= rows_of_block * columns) return;
    const int i = t / columns, j = t % columns;
    if (row + i >= m || j >= n) return;
    float all = 0;
    for (int w = 0; w < thin_warps; ++w) all += of_warp[w][i][j];
    c[std::size_t(row + i) * n + j] = all;
}

/// Launches thin_rows_kernel over all of C. @pre 0 < m <= 8, n > 0; 4 divides n where vector is true
inline void launch_thin_rows(const float* a, const float* b, float* c, int m, int k, int n, bool vector, int part,
                             int parts, cudaStream_t stream) {
    const auto launch = [&](auto kernel, int width) {
        const dim3 blocks(gpulab::ceil_div(n, 32 * width), parts);
        kernel<<<blocks, thin_threads, 0, stream>>>(a, b, c, m, k, n, part);
    };
    const auto with_rows = [&]<int rows>() {
        vector ? launch(thin_rows_kernel<rows, 4>, 4) : launch(thin_rows_kernel<rows, 1>, 1);
    };
    if (m == 1) with_rows.operator()<1>();
    else if (m == 2) with_rows.operator()<2>();
    else if (m <= 4) with_rows.operator()<4>();
    else with_rows.operator()<8>();
}

/// Launches thin_columns_kernel over all of C. @pre 0 < n <= 8, m > 0
inline void launch_thin_columns(const float* a, const float* b, float* c, int m, int k, int n, cudaStream_t stream) {
    const auto kernel = n == 1   ? thin_columns_kernel<1>
                        : n == 2 ? thin_columns_kernel<2>
                        : n <= 4 ? thin_columns_kernel<4>
                                 : thin_columns_kernel<8>;
    kernel<<<gpulab::ceil_div(m, rows_of_block), thin_threads, 0, stream>>>(a, b, c, m, k, n);
}

} // namespace matmul
