/// @file
/// Step 2 of cuda_bins: a block counts the entries of its bin in each window of columns, and copies each entry into its
/// window.
///
///     a bin by rows        w0 w2 w0 | w1 w0 | w2 w2        the window of each entry
///     count                3 1 3                           in whole chunks 1 1 1, after a scan the first chunk 0 1 2
///     a bin by windows     w0 w0 w0 ... | w1 ... | w2 w2 w2 ...
#pragma once

#include <cstddef>
#include <cstdint>

#include "bins_format.hpp"

namespace spmv {

inline constexpr unsigned slot_lanes = 8; // lanes that count or copy the entries of one slot

/// The CSR matrix with its slots and bins, in device memory.
struct Cut {
    const int *row_start, *column;
    const int *slot_start, *row; ///< of each row its first slot, of each slot its row
    const int* first_slot;       ///< of each bin
    int windows;
};

/// Calls task(k, s) for each entry k of this block's bin, with its slot s in the bin: `slot_lanes` lanes per slot.
template <class Task> __device__ __forceinline__ void for_entries(const Cut& a, const Task& task) {
    const int first = a.first_slot[blockIdx.x], slots = a.first_slot[blockIdx.x + 1] - first;
    const unsigned lane = threadIdx.x % slot_lanes;
    for (int s = static_cast<int>(threadIdx.x / slot_lanes); s < slots;
         s += static_cast<int>(bins_threads / slot_lanes)) {
        const int i = a.row[first + s] < 0 ? ~a.row[first + s] : a.row[first + s];
        const auto begin = static_cast<unsigned>(a.row_start[i] + first + s - a.slot_start[i]);
        const auto end = static_cast<unsigned>(a.row_start[i + 1]);
        const auto step = static_cast<unsigned>(a.slot_start[i + 1] - a.slot_start[i]);
        for (unsigned k = begin + lane * step; k < end; k += slot_lanes * step) task(k, s);
    }
}

/// Counts the entries of a bin in each window, and the chunks that they fill. A block per bin.
static __global__ void __launch_bounds__(bins_threads) count_kernel(Cut a, int* entries, int* chunks) {
    extern __shared__ int count[]; // of each window
    for (int w = static_cast<int>(threadIdx.x); w < a.windows; w += bins_threads) count[w] = 0;
    __syncthreads();
    for_entries(a, [&](unsigned k, int) { atomicAdd(&count[a.column[k] >> window_bits], 1); });
    __syncthreads();
    const std::size_t mine = blockIdx.x * static_cast<std::size_t>(a.windows);
    for (int w = static_cast<int>(threadIdx.x); w < a.windows; w += bins_threads) {
        entries[mine + w] = count[w];
        chunks[mine + w] = (count[w] + chunk - 1) / chunk;
    }
}

/// Copies the entries of a bin into their windows, in any order. A block per bin.
template <class T>
__global__ void __launch_bounds__(bins_threads)
    windows_kernel(Cut a, const T* __restrict__ value, const int* __restrict__ first_chunk, std::uint32_t* place,
                   T* value_out) {
    extern __shared__ int count[]; // entries that each window has got so far
    for (int w = static_cast<int>(threadIdx.x); w < a.windows; w += bins_threads) count[w] = 0;
    __syncthreads();
    const int* const first = first_chunk + blockIdx.x * static_cast<std::size_t>(a.windows);
    for_entries(a, [&](unsigned k, int s) {
        const int j = a.column[k], w = j >> window_bits;
        const T v = value[k];
        const std::size_t to = static_cast<std::size_t>(first[w]) * chunk + atomicAdd(&count[w], 1);
        place[to] = static_cast<std::uint32_t>(s) << 16 | static_cast<std::uint32_t>(j & (window - 1));
        value_out[to] = v;
    });
}

} // namespace spmv
