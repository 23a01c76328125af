/// @file
/// An exclusive scan: each number is replaced by the sum of those before it.
///
///     numbers      3 1 2 | 4 0 1 | 2 2 0      tiles of three numbers, in truth of 4096
///     tile sums      6       5       4        tile_sums_kernel
///     before         0       6      11        scan_kernel, one block
///     result       0 3 4 | 6 10 10 | 11 13 15 scan_kernel, a block per tile
#pragma once

#include <cstddef>

#include "bins_format.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/math.hpp"

namespace spmv {

inline constexpr int scan_tile = 4 * bins_threads; // numbers that a block of a scan takes

/// Adds up one number per thread, for a block of bins_threads threads.
/// @param total becomes the sum of all
/// @return the sum of the numbers of the threads before this one
__device__ inline int scan_of_block(int number, int& total) {
    __shared__ int warp_total[bins_threads / 32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = number; // of this lane and those before
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(0xFFFFFFFFu, sum, distance);
        if (lane >= distance) sum += other;
    }
    if (lane == 31) warp_total[warp] = sum;
    __syncthreads();
    int before = 0;
    total = 0;
    for (unsigned w = 0; w < bins_threads / 32; ++w) {
        if (w == warp) before = total;
        total += warp_total[w];
    }
    __syncthreads(); // the next call writes warp_total
    return before + sum - number;
}

/// tile_sum[b] becomes the sum of numbers b * scan_tile ... (b + 1) * scan_tile - 1.
static __global__ void __launch_bounds__(bins_threads)
    tile_sums_kernel(const int* number, std::size_t n, int* tile_sum) {
    int sum = 0;
    for (unsigned m = 0; m < 4; ++m) {
        const std::size_t i = blockIdx.x * std::size_t{scan_tile} + m * bins_threads + threadIdx.x;
        if (i < n) sum += number[i];
    }
    int total = 0;
    scan_of_block(sum, total);
    if (threadIdx.x == 0) tile_sum[blockIdx.x] = total;
}

/// Replaces each number by the sum of those before it, in rounds of a block's threads. One block per tile of
/// `per_block` numbers. @param tile_sum what comes before each tile, or null
static __global__ void __launch_bounds__(bins_threads)
    scan_kernel(int* number, std::size_t n, std::size_t per_block, const int* tile_sum) {
    const std::size_t begin = blockIdx.x * per_block, end = min(begin + per_block, n);
    int before = tile_sum == nullptr ? 0 : tile_sum[blockIdx.x];
    for (std::size_t round = begin; round < end; round += bins_threads) { // the same rounds for all threads
        const std::size_t i = round + threadIdx.x;
        int total = 0;
        const int sum = scan_of_block(i < end ? number[i] : 0, total);
        if (i < end) number[i] = before + sum;
        before += total;
    }
}

/// Replaces each number by the sum of those before it.
inline void exclusive_scan(gpulab::DeviceBuffer<int>& number) {
    const unsigned tiles = gpulab::grid_size(number.size(), scan_tile);
    gpulab::DeviceBuffer<int> tile_sum(tiles);
    tile_sums_kernel<<<tiles, bins_threads>>>(number.data(), number.size(), tile_sum.data());
    scan_kernel<<<1, bins_threads>>>(tile_sum.data(), tiles, tiles, nullptr);
    scan_kernel<<<tiles, bins_threads>>>(number.data(), number.size(), scan_tile, tile_sum.data());
    CUDA_CHECK_LAUNCH();
}

} // namespace spmv
