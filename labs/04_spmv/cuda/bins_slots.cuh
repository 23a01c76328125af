/// @file
/// Step 1 of cuda_bins: slots, and bins of equal work. A row of more than 512 entries gets several slots.
///
///     entries of a row     300   1300   200   700
///     slots                  1      3     1     2
///     first slot             0      1     4     5   7      an exclusive scan
///     bins                [ 0 1 2 3 ] [ 4 5 6 ]            cut by bisection where half of entries and slots lie before
#pragma once

#include "bins_format.hpp"
#include "bins_scan.cuh"

namespace spmv {

/// The slots of a row, which share its entries in turn: slot q has entries begin + q, begin + q + slots, ...
__device__ __forceinline__ int slots_of(int entries) { return max(1, (entries + max_per_slot - 1) / max_per_slot); }

/// slot_start[i] becomes the number of slots of row i, and 0 for i = rows.
static __global__ void count_slots_kernel(const int* __restrict__ row_start, int rows, int* slot_start) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > static_cast<unsigned>(rows)) return;
    slot_start[i] = i == static_cast<unsigned>(rows) ? 0 : slots_of(row_start[i + 1] - row_start[i]);
}

/// The first i of 0 ... n - 1 for which is_reached(i), by bisection; n if there is none.
/// @pre once it is true, it stays true for greater i
template <class IsReached> __device__ __forceinline__ int first_of(int n, const IsReached& is_reached) {
    int low = 0, high = n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (is_reached(middle)) high = middle;
        else low = middle + 1;
    }
    return low;
}

/// row[s] becomes the row of slot s; ~row where the row has several slots.
static __global__ void rows_of_slots_kernel(const int* __restrict__ slot_start, int rows, int* row) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= static_cast<unsigned>(slot_start[rows])) return;
    const int i = first_of(rows, [&](int r) { return slot_start[r + 1] > static_cast<int>(s); });
    row[s] = slot_start[i + 1] - slot_start[i] > 1 ? ~i : i;
}

/// The first slot before which at least this much work lies. Each slot and each entry counts as 1.
__device__ inline int slot_after(long long work, const int* row_start, const int* slot_start, int rows) {
    const auto before = [&](int i) { return static_cast<long long>(row_start[i]) + slot_start[i]; }; // row i
    const int next = first_of(rows, [&](int i) { return before(i) >= work; });
    if (next == 0) return 0;
    const int i = next - 1; // the row begins before; one of its slots, or the next row, does not
    const int entries = row_start[next] - row_start[i], slots = slot_start[next] - slot_start[i];
    return slot_start[i] + first_of(slots, [&](int q) { // the first `entries % slots` slots have an entry more
               return before(i) + static_cast<long long>(q) * (entries / slots + 1) + min(q, entries % slots) >= work;
           });
}

/// Cuts the slots into `ranges` ranges of equal work, and each range into as many bins as its slots need. One block.
/// @param first_slot of each bin; bins + 1 of them. Bins that are not needed come last, and are empty
/// @param max_used zero before; becomes the number of slots of the largest bin
static __global__ void __launch_bounds__(bins_threads)
    cut_kernel(const int* __restrict__ row_start, const int* __restrict__ slot_start, int rows, int ranges,
               int max_slots, int* first_slot, int bins, int* max_used) {
    const int slots = slot_start[rows], r = static_cast<int>(threadIdx.x);
    const long long work = static_cast<long long>(row_start[rows]) + slots;
    const auto begin_of = [&](int range) {
        return range >= ranges ? slots : slot_after(work / ranges * range, row_start, slot_start, rows);
    };
    const int begin = begin_of(r), end = begin_of(r + 1);
    const int parts = (end - begin + max_slots - 1) / max_slots;
    int used = 0;
    const int first = scan_of_block(parts, used);
    if (parts > 0) atomicMax(max_used, (end - begin + parts - 1) / parts);
    for (int q = 0; q < parts; ++q)
        first_slot[first + q] = begin + static_cast<int>(static_cast<long long>(end - begin) * q / parts);
    for (int b = used + r; b <= bins; b += bins_threads) first_slot[b] = slots;
}

} // namespace spmv
