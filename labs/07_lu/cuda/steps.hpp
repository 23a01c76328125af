/// @file
/// The steps of blocked elimination on the device, for the rungs after the one that introduces a step. Each function
/// puts its kernels into a stream and does not wait for them. Ranges end before `end`.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

#include "lu.hpp"

namespace lu {

/// The most columns of a panel: the shared memory of exchange_rows() and solve_unit_lower() has room for this many.
inline constexpr int max_panel_columns = 64;

/// A matrix row by row in device memory, with the row exchanges that its factorisation makes.
struct DeviceMatrix {
    double* lu;
    int n;
    std::int32_t* pivots;

    double* at(int row, int column) const { return lu + std::size_t(row) * n + column; }
};

/// Eliminates all columns of an n x n matrix without pivoting, with tiles of 16 x 16 or 32 x 32 (01_two_kernels.cu).
template <int TILE> void eliminate_by_rows(double* lu, int n, cudaStream_t stream);

/// Eliminates the columns k0 ... k1 - 1, from row k0 down, with partial pivoting; touches no other columns. Four
/// kernels per column (04_columns_pivot.cu).
void factorise_columns(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream);

/// Applies the exchanges of the steps k0 ... k1 - 1 to the columns begin ... end - 1 other than hole ... hole_end - 1
/// (05_blocked_pivot.cu). @pre k1 - k0 <= max_panel_columns
void exchange_rows(const DeviceMatrix& d, int k0, int k1, int begin, int end, int hole, int hole_end,
                   cudaStream_t stream);

/// X = L^-1 X, where L has ones on its diagonal (05_blocked_pivot.cu). @pre rows <= max_panel_columns
void solve_unit_lower(const double* l, int l_stride, double* x, int x_stride, int rows, int columns,
                      cudaStream_t stream);

/// C -= A B for parts of row-by-row matrices: C is m x n, A is m x k (05_blocked_pivot.cu).
/// @param a_stride,stride from row to row of A, and of B and C
void update_tiled(const double* a, int a_stride, const double* b, double* c, int stride, int m, int n, int k,
                  cudaStream_t stream);

/// The same on tensor cores, with one stride for all three (06_tensor_pivot.cu). @pre compute capability 8.0
void update_tensor(const double* a, const double* b, double* c, int stride, int m, int n, int k, cudaStream_t stream);

/// factorise_columns() with the panel in the registers of a cluster (07_cluster_pivot.cu). @pre compute capability 9.0
void factorise_panel_in_cluster(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream);

/// The most rows of a panel that one block takes.
inline constexpr int max_block_rows = 256;

/// factorise_columns() with the panel in the registers of one block (batch_panels.cu).
/// @pre k1 - k0 <= max_panel_columns, d.n - k0 <= max_block_rows
/// @throws Unsupported when a block of this device has less shared memory than it takes
void factorise_panel_in_block(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream);

/// The part of elimination that factorises a panel, as factorise_columns() does.
using Panel = void(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream);

/// Applies the exchanges of the panel k0 ... k1 - 1 to the columns begin ... end - 1, all of them on one side of the
/// panel. On its right it also solves for the rows k0 ... k1 - 1 of U. @pre k1 - k0 <= max_panel_columns
using ExchangeAndSolve = void(const DeviceMatrix& d, int k0, int k1, int begin, int end, cudaStream_t stream);

/// Factorises with look-ahead (08_look_ahead_pivot.cu), and with the given kernels for the panel, for exchanges and for
/// the triangular solve.
/// @param columns the panel width for a given number of remaining rows. A panel of more than max_panel_columns is
///        factorised in parts of max_panel_columns, which the rest of the matrix follows together
void look_ahead(const Problem& p, Factors& f, Stopwatch& watch, Panel* panel, ExchangeAndSolve* exchange_and_solve,
                int (*columns)(int rows_left));

/// Throws Unsupported when the current device runs an update_tensor() that was compiled for a compute capability below
/// 8.0, which has no tensor cores for double precision (06_tensor_pivot.cu).
void require_tensor_cores();

/// The same for factorise_panel_in_cluster() (07_cluster_pivot.cu).
void require_clusters();

} // namespace lu
