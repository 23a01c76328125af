/// @file
/// Step 3 of cuda_bins: a block sorts the entries of one window of one bin by groups of eight columns. Eight neighbours
/// lie in one sector of x, or two of doubles, so their order does not matter.
///
///     group of each entry      5 0 2 5 0 0
///     count of each group      3 0 1 0 0 2
///     first place              0 3 3 4 4 4      an exclusive scan; every entry takes the next place of its group
#pragma once

#include <cstddef>
#include <cstdint>

#include "bins_format.hpp"
#include "bins_scan.cuh"

namespace spmv {

inline constexpr int group_columns = 8; // whose order does not matter
inline constexpr int groups = window / group_columns;

/// Sorts the entries of one window of one bin by groups of columns; a block for each. A lane of the product loads its
/// four entries of a chunk at once, and the lanes of a warp multiply neighbouring entries: see bins_format.hpp.
template <class T>
__global__ void __launch_bounds__(bins_threads)
    columns_kernel(const int* __restrict__ entries, const int* __restrict__ first_chunk, int windows,
                   const std::uint32_t* __restrict__ place, const T* __restrict__ value, std::uint32_t* place_out,
                   T* value_out, int* first_column) {
    __shared__ int next[groups];                  // the next free place of a group, counted within its warp's groups
    __shared__ int warp_begin[bins_threads / 32]; // the place of a warp's first group
    constexpr int groups_of_warp = groups / static_cast<int>(bins_threads / 32);
    const int n = entries[blockIdx.x];
    if (n == 0) return; // for the whole block
    const int me = static_cast<int>(threadIdx.x), lane = me % 32, warp = me / 32;
    const int chunk_begin = first_chunk[blockIdx.x], chunk_end = first_chunk[blockIdx.x + 1];
    const std::size_t base = static_cast<std::size_t>(chunk_begin) * chunk;
    const auto group_of = [](std::uint32_t p) { return static_cast<int>(p & (window - 1)) / group_columns; };

    for (int g = me; g < groups; g += bins_threads) next[g] = 0;
    __syncthreads();
    for (int k = me; k < n; k += bins_threads) atomicAdd(&next[group_of(place[base + k])], 1);
    __syncthreads(); // all entries are counted

    int sum = 0; // of the warp's groups so far
    for (int g = warp * groups_of_warp + lane; g < (warp + 1) * groups_of_warp; g += 32) {
        const int count = next[g];
        int before = count; // becomes the sum over this lane and those before
        for (int distance = 1; distance < 32; distance *= 2) {
            const int other = __shfl_up_sync(0xFFFFFFFFu, before, distance);
            if (lane >= distance) before += other;
        }
        next[g] = sum + before - count;
        sum += __shfl_sync(0xFFFFFFFFu, before, 31);
    }
    int all = 0;
    const int begin = scan_of_block(lane == 0 ? sum : 0, all); // of lane 0: over the warps before
    if (lane == 0) warp_begin[warp] = begin;
    __syncthreads(); // every group has its first place

    const auto place_of = [](int k) { return k / chunk * chunk + 4 * (k % 32) + k % chunk / 32; };
    for (int k = me; k < n; k += bins_threads) {
        const std::uint32_t p = place[base + k];
        const int g = group_of(p);
        const std::size_t to = base + place_of(warp_begin[g / groups_of_warp] + atomicAdd(&next[g], 1));
        place_out[to] = p;
        value_out[to] = value[base + k];
    }
    for (int k = n + me; k < (chunk_end - chunk_begin) * chunk; k += bins_threads) { // padding
        place_out[base + place_of(k)] = no_slot << 16;
        value_out[base + place_of(k)] = 0;
    }
    const int w = static_cast<int>(blockIdx.x % static_cast<unsigned>(windows));
    for (int c = chunk_begin + me; c < chunk_end; c += bins_threads) first_column[c] = w << window_bits;
}

} // namespace spmv
