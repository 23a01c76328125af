/// @file
/// What the CUDA rungs for batches share: the search for a pivot by a warp, and shared memory above 48 KiB.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <string>

#include "batch.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/error.hpp"

namespace lu {

/// Lets a kernel use this much dynamic shared memory. Above 48 KiB a kernel must ask for it.
/// @throws Unsupported when a block of this device has less
template <class Kernel> void ask_for_shared_memory(Kernel kernel, std::size_t bytes) {
    int device = 0, most = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    cudaFuncAttributes attributes{};
    CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    if (bytes + attributes.sharedSizeBytes > static_cast<std::size_t>(most))
        throw gpulab::Unsupported("a matrix takes " + std::to_string(bytes) +
                                  " bytes of shared memory, and a block of this device has " +
                                  std::to_string(static_cast<std::size_t>(most) - attributes.sharedSizeBytes));
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

/// The largest of the integers that the lanes of a warp have. From compute capability 8.0 on that is one instruction.
template <class T> __device__ T largest_of_warp(T value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) value = max(value, __shfl_xor_sync(~0u, value, distance));
    return value;
#endif
}

/// What a warp has found: lane `lane` keeps the pivot, in the `index`-th of its rows, which now stands in row
/// `position`.
struct Pivot {
    int lane, index, position;
};

/// Finds the pivot of step k in a column of which each lane keeps ROWS elements; position[r] is the row in which the
/// r-th stands after the exchanges so far. Candidates stand in row k or below; there is at least one. If several are
/// equal, the one in the first row wins; NaN loses to all.
///
/// The bits of numbers >= 0 are ordered as the numbers are. So the largest upper half is found first, as an integer,
/// and the lower halves are compared only if several upper halves are equal.
template <int ROWS> __device__ Pivot find_pivot(const double (&column)[ROWS], const int (&position)[ROWS], int k) {
    int upper = INT_MIN, row = 0, index = 0; // the lane's best; INT_MIN: it has none
    unsigned lower = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (position[r] < k) continue;
        const bool nan = column[r] != column[r];
        const int high = nan ? -1 : __double2hiint(fabs(column[r]));
        const unsigned low = nan ? 0 : __double2loint(column[r]);
        if (high > upper || (high == upper && (low > lower || (low == lower && position[r] < row))))
            upper = high, lower = low, row = position[r], index = r;
    }
    bool best = upper == largest_of_warp(upper);
    unsigned winners = __ballot_sync(~0u, best); // a bit for each lane
    if ((winners & (winners - 1)) != 0) {        // several; the same in all lanes
        const unsigned rest = largest_of_warp(best ? lower : 0u);
        best = best && lower == rest;
        const int first = -largest_of_warp(best ? -row : INT_MIN); // the smallest
        winners = __ballot_sync(~0u, best && row == first);
    }
    const int lane = __ffs(winners) - 1;
    const int found = __shfl_sync(~0u, row * ROWS + index, lane);
    return {lane, found % ROWS, found / ROWS};
}

} // namespace lu
