/// @file
/// What the CUDA rungs for batches share: a step of elimination, with the search for the pivot by a warp.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "batch.hpp"

namespace lu {

/// The largest of the integers that the lanes of a warp have. From compute capability 8.0 on that is one instruction.
template <class T> __device__ T largest_of_warp(T value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, value);
#else
    for (int distance = 16; distance > 0; distance /= 2) value = max(value, __shfl_xor_sync(~0u, value, distance));
    return value;
#endif
}

/// What a warp has found: its lane `lane` keeps the pivot, in its row number `index`, which now stands in row
/// `position`.
struct Pivot {
    int lane, index, position;
    bool has_reciprocal; ///< that is accurate: the pivot is between 2^-1000 and 2^1000
};

/// Finds the pivot of step k in column 0 of v, of which each lane keeps ROWS rows; position[r] is where its row r
/// stands after the exchanges so far. Candidates stand in row k or below; there is at least one. If several are equal,
/// the one in the first row wins; NaN loses to all.
///
/// The bits of numbers >= 0 are ordered as the numbers are. So the largest upper half is found first, as an integer.
/// Lower halves are looked at only if several upper halves are equal, which is rare.
template <int ROWS, int COLUMNS>
__device__ Pivot find_pivot(const double (&v)[ROWS][COLUMNS], const int (&position)[ROWS], int k) {
    constexpr int infinity = 0x7ff00000; // its upper half; that of NaN is as large, or larger
    int upper[ROWS], best = -1;          // -1: no candidate
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        upper[r] = position[r] < k ? -1 : __double2hiint(v[r][0]) & INT_MAX; // without the sign
        best = max(best, upper[r]);
    }
    int largest = largest_of_warp(best);
    const auto candidates = [&] { // of this lane: a bit for each row
        int rows = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) rows |= int(upper[r] == largest) << r;
        return rows;
    };
    const int of_pivot = largest;
    int rows = candidates();
    unsigned lanes = __ballot_sync(~0u, rows != 0);
    if ((lanes & (lanes - 1)) != 0 || __any_sync(~0u, (rows & (rows - 1)) != 0) || largest >= infinity) {
        // NaN comes below 0 here. Then the largest of the lower halves, then the first of the rows, each in `upper`.
        best = -2;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const bool nan = v[r][0] != v[r][0];
            upper[r] = position[r] < k ? -2 : nan ? -1 : upper[r];
            best = max(best, upper[r]);
        }
        largest = largest_of_warp(best);
        rows = candidates();
        unsigned lower = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if ((rows >> r & 1) != 0 && largest >= 0) lower = max(lower, unsigned(__double2loint(v[r][0])));
        lower = largest_of_warp(lower);
        best = INT_MIN;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const bool equal = (rows >> r & 1) != 0 && (largest < 0 || unsigned(__double2loint(v[r][0])) == lower);
            upper[r] = equal ? -position[r] : INT_MIN;
            best = max(best, upper[r]);
        }
        largest = largest_of_warp(best);
        rows = candidates();
        lanes = __ballot_sync(~0u, rows != 0);
    }
    const int lane = __ffs(lanes) - 1;
    unsigned found = 0; // index and position in one number
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (rows == 1 << r) found = position[r] * ROWS + r;
    found = __shfl_sync(~0u, found, lane);
    return {lane, int(found % ROWS), int(found / ROWS), of_pivot >= 0x01700000 && of_pivot < 0x7e700000};
}

/// Copies a row of registers from or to shared memory. @pre 16-byte boundaries, and an even number of columns
template <int COLUMNS> __device__ void store(double* to, const double (&from)[COLUMNS]) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j += 2) *reinterpret_cast<double2*>(to + j) = {from[j], from[j + 1]};
}
template <int COLUMNS> __device__ void load(double (&to)[COLUMNS], const double* from) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j += 2) {
        const double2 two = *reinterpret_cast<const double2*>(from + j);
        to[j] = two.x;
        to[j + 1] = two.y;
    }
}

/// Row number `index` of v in shared memory, for all lanes; __syncwarp() must follow. Registers have no addresses, so
/// v[index] will not do.
template <int ROWS, int COLUMNS> __device__ void store_row(double* to, const double (&v)[ROWS][COLUMNS], int index) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (r == index) store(to, v[r]);
}

/// What step k chose: the row of A that is the pivot's, and where it stood.
struct Choice {
    int row, position;
};

/// Exchanges rows, that is, the places where they stand. Lane l keeps the rows l, l + 32, ... of A.
template <int ROWS> __device__ void exchange(int (&position)[ROWS], int lane, int k, Choice chosen) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        if (position[r] == k) position[r] = chosen.position;
        if (lane + 32 * r == chosen.row) position[r] = k;
    }
}

/// Step k of the elimination in the registers of a warp: search, exchange, division, update. Lane l keeps the rows l,
/// l + 32, ... of A, and of these the columns k ... k + COLUMNS - 1.
///
/// Rows are not exchanged: `position` says where each row stands. The step moves the columns on by one, so that the
/// column to search is always number 0. So the steps can be a loop, although registers have no addresses; unrolled
/// they would be thousands of instructions. The update also changes rows that have been pivots; nobody reads them any
/// more.
/// @param v the rows of this lane, columns k and following first @param position where each of them stands; -1: no row
/// @param end the first column that is not this warp's
/// @param m shared memory: L and U, each row where it stands in A, STRIDE elements from the one before
/// @param row_of_u shared memory for 2 * COLUMNS numbers, at a 16-byte boundary: a step may not overwrite what others
///        still read in the step before
/// @param chosen shared memory: element k becomes the choice of this step
template <int STRIDE, int ROWS, int COLUMNS>
__device__ void eliminate_column(double (&v)[ROWS][COLUMNS], int (&position)[ROWS], int lane, int k, int end, double* m,
                                 double* row_of_u, Choice* chosen) {
    const Pivot pivot = find_pivot(v, position, k);
    const Choice choice = {pivot.lane + 32 * pivot.index, pivot.position};
    double* const u = row_of_u + k % 2 * COLUMNS;
    if (lane == pivot.lane) { // after __syncwarp() all lanes read them
        store_row(u, v, pivot.index);
        chosen[k] = choice;
    }
    exchange(position, lane, k, choice);
    __syncwarp();
    double l[ROWS];
    if (pivot.has_reciprocal) {
        const double reciprocal = 1 / u[0];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) l[r] = v[r][0] * reciprocal;
    } else {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) l[r] = v[r][0] / u[0];
    }
#pragma unroll
    for (int j = 1; j < COLUMNS; ++j)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) v[r][j - 1] = v[r][j] - l[r] * u[j];
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (position[r] > k) m[(lane + 32 * r) * STRIDE + k] = l[r];
    if (k + lane < end) m[choice.row * STRIDE + k + lane] = u[lane];
}

} // namespace lu
