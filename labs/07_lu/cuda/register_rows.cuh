/// @file
/// Rows of a panel in the registers of a thread. Registers have no addresses, so each place is a constant: eight
/// columns are unrolled, and after eight columns each row rotates by eight places. Between registers and matrix the
/// rows pass through a tile in shared memory, so that neighbouring lanes access neighbours.
///
///     matrix  --load_rows()-->  tile, 32 rows  -->  a lane's row: places 0 ... W - 1  --store_rows()-->  matrix
///                                                   place u: the current column
///                                                   rotate(): places 8 ... 15 become 0 ... 7
///
/// For cuda_critical_path_pivot, from compute capability 9.0 on.
#pragma once

#include <cstddef>

#include "pivot_candidates.cuh"
#include "steps.hpp"

namespace lu {

#if __CUDA_ARCH__ >= 900
inline constexpr int unrolled = 8; // columns

/// The rows that a thread keeps in registers.
template <int W, int ROWS> struct Rows {
    double a[ROWS][W];
    int position[ROWS]; ///< of each row in the matrix, after the exchanges so far
};

/// Loads the rows of a warp through a tile. With one instruction the lanes read 8 columns of 4 rows:
///
///     columns     0 ... 7
///     row 0       lanes  0 ... 7
///     row 1       lanes  8 ... 15
///     row 2       lanes 16 ... 23
///     row 3       lanes 24 ... 31
///
/// After eight of them the tile has 32 rows, and each lane takes its own.
/// @param first the first row of the warp; those of a lane are THREADS apart
template <int THREADS, int W, int ROWS>
__device__ __forceinline__ void load_rows(Rows<W, ROWS>& rows, const DeviceMatrix& d, int k0, int width, int first,
                                          double (&tile)[32][unrolled + 1]) {
    const int t = threadIdx.x, lane = t % 32;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int row = first + r * THREADS;
        double(&a)[W] = rows.a[r];
        rows.position[r] = row + lane;
#pragma unroll
        for (int j = 0; j < W; ++j) {
            const int i = row + j % 8 * 4 + lane / 8, column = j / 8 * 8 + lane % 8;
            a[j] = i < d.n && column < width ? d.lu[std::size_t(i) * d.n + k0 + column] : 0;
        }
#pragma unroll
        for (int j = 0; j < W; j += 8) {
#pragma unroll
            for (int i = 0; i < 8; ++i) tile[i * 4 + lane / 8][lane % 8] = a[j + i];
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 8; ++i) a[j + i] = tile[lane][i];
            __syncwarp();
        }
    }
}

/// Stores the rows at their positions, through the tile as well.
template <int W, int ROWS>
__device__ __forceinline__ void store_rows(const Rows<W, ROWS>& rows, const DeviceMatrix& d, int k0, int width,
                                           double (&tile)[32][unrolled + 1]) {
    const int t = threadIdx.x, lane = t % 32;
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
#pragma unroll
        for (int j = 0; j < W; j += 8) {
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 8; ++i) tile[lane][i] = rows.a[r][j + i];
            __syncwarp();
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int to = __shfl_sync(all_lanes, rows.position[r], i * 4 + lane / 8), column = j + lane % 8;
                if (to < d.n && column < width)
                    d.lu[std::size_t(to) * d.n + k0 + column] = tile[i * 4 + lane / 8][lane % 8];
            }
        }
}

/// Moves each row by eight places, so that the next columns come to places 0 to 7. For W = 32, by columns:
///
///     places      0 ... 7    8 ... 15   16 ... 23  24 ... 31
///     done = 0    0 ... 7    8 ... 15   16 ... 23  24 ... 31
///     done = 8    8 ... 15   16 ... 23  24 ... 31  0 ... 7      these are finished
///     done = 16   16 ... 23  24 ... 31  0 ... 7    8 ... 15     and these
///
/// After W / 8 times each element is in its place again.
template <int W, int ROWS> __device__ __forceinline__ void rotate(Rows<W, ROWS>& rows) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        double(&a)[W] = rows.a[r];
        double first[unrolled];
#pragma unroll
        for (int j = 0; j < unrolled; ++j) first[j] = a[j];
#pragma unroll
        for (int j = 0; j + unrolled < W; ++j) a[j] = a[j + unrolled];
#pragma unroll
        for (int j = 0; j < unrolled; ++j) a[W - unrolled + j] = first[j];
    }
}
#endif

} // namespace lu
