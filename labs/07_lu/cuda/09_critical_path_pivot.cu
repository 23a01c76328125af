// Rung 9: a shorter critical path.
//
// In cuda_look_ahead_pivot the panels take longer than the update, unless n is large: they are the critical path. Each
// column of a panel is a chain of dependent operations, and only a shorter chain makes the panel faster.
// Changed: the chain.
// - Messages replace the barrier of the cluster (pivot_messages.cuh). After the barrier the pivot's row must still be
//   fetched from another block, and the barrier includes a fence for all memory. Here each block sends its candidate,
//   with its row, to all blocks.
// - Magnitudes are compared as integers (pivot_candidates.cuh).
// - Eight columns are unrolled, so that their places in registers are constants. A row rotates once for eight columns.
//   It passes through shared memory on its way from and to the matrix (register_rows.cuh).
// - One division per column, 1 / pivot, is computed during the search; rows are multiplied with the result.
// - A panel has 32 columns, because a step updates all columns of the panel. While more than 2048 rows are left, two
//   panels are applied together to the rest of the matrix, which then passes through memory once for 64 columns. From
//   8193 rows on these are four panels of 16, from 16,385 on the kernels of cuda_columns_pivot take all 64.
// - The search for the next pivot begins as soon as its column is up to date, and goes on while the others follow. A
//   candidate's reciprocal comes with it.
// - Kernels of the chain begin while the one before them ends (early.cuh), and no block of the update shares a
//   multiprocessor with a panel's.
// - One kernel exchanges rows and solves for U (exchange_and_solve.cuh).
// - While more than 4096 rows are left, a panel has 256 columns, in four parts of 64; while more than 8192, 512 in
// eight.
//   The rest of the matrix passes through memory once for all of them, so that arithmetic limits its update, and no
//   longer memory.
// - When at most 256 rows are left, one block factorises 64 columns, as in cuda_batch_panels: a warp finds a pivot
//   without asking other warps, and needs no message.
// Limit: still the chain, for n up to about 4096; then the update.
#include <algorithm>
#include <cooperative_groups.h>

#include "cluster.hpp"
#include "exchange_and_solve.cuh"
#include "gpulab/cuda/built_for.hpp"
#include "pivot_messages.cuh"
#include "register_rows.cuh"
#include "steps.hpp"

namespace lu {

namespace {

constexpr int max_blocks = max_cluster_blocks;

#if __CUDA_ARCH__ >= 900
/// Exchanges rows, that is, their positions, and computes the column of L, also in l: 0 for a row that is finished.
template <int W, int ROWS>
__device__ __forceinline__ void exchange_and_divide(Rows<W, ROWS>& rows, double (&l)[ROWS], const Pivot& pivot,
                                                    int diagonal, int u) {
    // Tiny and huge pivots have no accurate reciprocal.
    const bool accurate = fabs(pivot.reciprocal) >= 1e-300 && fabs(pivot.reciprocal) <= 1e300;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        int& position = rows.position[r];
        if (position == pivot.position) position = diagonal;
        else if (position == diagonal) position = pivot.position;
        l[r] = 0;
        if (position > diagonal) {
            l[r] = rows.a[r][u] * pivot.reciprocal;
            if (!accurate) l[r] = rows.a[r][u] / (u % 2 == 0 ? pivot.row[u / 2].x : pivot.row[u / 2].y);
            rows.a[r][u] = l[r];
        }
    }
}

/// Subtracts l times the pivot's row in place j, a constant.
template <int W, int ROWS>
__device__ __forceinline__ void eliminate_place(Rows<W, ROWS>& rows, const double (&l)[ROWS], const double2* pivot_row,
                                                int j) {
    const double2 pair = pivot_row[j / 2];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) rows.a[r][j] -= l[r] * (j % 2 == 0 ? pair.x : pair.y);
}

/// The same in all places from `first` on, a constant. The elements behind place W - done are finished.
template <int W, int ROWS>
__device__ __forceinline__ void eliminate(Rows<W, ROWS>& rows, const double (&l)[ROWS], const double2* pivot_row,
                                          int first, int done) {
#pragma unroll
    for (int j0 = 0; j0 < W; j0 += unrolled)
        if (j0 == 0 || j0 < W - done) {
#pragma unroll
            for (int j = j0; j < j0 + unrolled; ++j)
                if (j >= first) eliminate_place(rows, l, pivot_row, j);
        }
}
#endif

/// Factorises the columns k0 ... k0 + width - 1, from row k0 down. One cluster; a thread has ROWS rows, THREADS apart.
///
/// A column, drawn for two blocks of three warps. All blocks have the same messages, and so choose the same pivot.
///
///              block 0                      block 1
///      warp 0  warp 1  warp 2       warp 0  warp 1  warp 2     rows in registers
///         |       |       |            |       |       |       offer_best_row()
///      [ of_warp: 3 messages ]      [ of_warp: 3 messages ]    __syncthreads()
///                 |                            |
///                 +----------------------------|--+            send_best_row(): the best one of each block,
///                 |  +-------------------------+  |            to all blocks
///                 v  v                         v  v
///      [ of_block: 2 messages ]     [ of_block: 2 messages ]   arrived.wait(): all bytes have come
///                 |                            |               choose_pivot(): the best one of all
///         rows in registers            rows in registers       exchange_and_divide(), eliminate()
///
/// With one block, of_warp has all messages, and nothing is sent.
/// @tparam W the numbers of a row that a thread has room for, at least `width`
template <int W, int THREADS, int ROWS>
__global__ void __launch_bounds__(THREADS, 1) message_panel_kernel(DeviceMatrix d, int k0, int width) {
#if __CUDA_ARCH__ >= 900
    namespace cg = cooperative_groups;
    using Memory = Shared<W, THREADS>;
    __shared__ Memory variables;
    Memory& shared = in_register(variables);
    const cg::cluster_group cluster = cg::this_cluster();
    const int t = threadIdx.x, warp = t / 32;
    const int rank = static_cast<int>(cluster.block_rank()), blocks = static_cast<int>(cluster.num_blocks());
    if (t == 0)
        for (gpulab::Barrier& barrier : shared.arrived) barrier.init(1);
    wait_for_previous();

    Rows<W, ROWS> rows;
    load_rows<THREADS>(rows, d, k0, width, k0 + rank * THREADS * ROWS + warp * 32, shared.tiles[warp]);
    cluster.sync(); // all barriers are there, and every block has begun
    Search found = search(rows, 0, k0, d.n);

#pragma unroll 1
    for (int done = 0; done < W; done += unrolled) {
#pragma unroll
        for (int u = 0; u < unrolled; ++u) {
            const int pairs = 2 + (W - done) / 2; // of a message
            const int k = done + u, diagonal = k0 + k, parity = u % 2;
            if (k >= width) break;
            gpulab::Barrier& arrived = shared.arrived[parity];
            if (blocks > 1 && t == 0) arrived.arrive_and_expect(blocks * pairs * static_cast<int>(sizeof(double2)));

            offer_best_row(rows, found, u, done, shared.of_warp[parity][warp]);
            __syncthreads(); // the messages of all warps are there
            if (blocks > 1) {
                send_best_row(shared, parity, rank, blocks, pairs);
                arrived.wait(k / 2); // the messages of all blocks are there
            }
            const Pivot pivot = choose_pivot(blocks > 1 ? shared.of_block[parity] : shared.of_warp[parity],
                                             blocks > 1 ? blocks : Memory::warps);
            if (rank == 0 && t == 0) d.pivots[diagonal] = pivot.position;

            double l[ROWS];
            exchange_and_divide(rows, l, pivot, diagonal, u);
            // The next column first: the search for its pivot goes on while the others follow.
            if (u + 1 < unrolled || unrolled < W - done) eliminate_place(rows, l, pivot.row, u + 1);
            found = search(rows, u + 1, diagonal + 1, d.n);
            eliminate(rows, l, pivot.row, u + 2, done);
        }
        rotate(rows);
    }

    // Every thread has loaded its rows before the first step: they may be overwritten.
    store_rows(rows, d, k0, width, shared.tiles[warp]);
#endif
}

/// Launches one cluster for the rows from k0 down.
template <int W, int THREADS, int ROWS>
void launch_panel(const DeviceMatrix& d, int k0, int width, cudaStream_t stream) {
    launch_cluster(message_panel_kernel<W, THREADS, ROWS>, d.n - k0, THREADS * ROWS, THREADS, true, true, stream, d, k0,
                   width);
}

void factorise_panel(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream) {
    const int n = d.n, rows = n - k0;
    if (rows > max_blocks * 1024) return factorise_columns(d, k0, k1, stream);
    if (rows <= max_block_rows) return factorise_panel_in_block(d, k0, k1, stream);
    const int width = rows <= max_blocks * 512 ? 32 : 16;
    for (int j0 = k0; j0 < k1; j0 += width) {
        const int j1 = std::min(j0 + width, k1);
        if (n - j0 <= max_blocks * 128) launch_panel<32, 128, 1>(d, j0, j1 - j0, stream);
        else if (n - j0 <= max_blocks * 256) launch_panel<32, 256, 1>(d, j0, j1 - j0, stream);
        else if (width == 32) launch_panel<32, 256, 2>(d, j0, j1 - j0, stream);
        else launch_panel<16, 256, 4>(d, j0, j1 - j0, stream);
        exchange_and_solve(d, j0, j1, k0, j0, stream);
        if (j1 == k1) break;
        exchange_and_solve(d, j0, j1, j1, k1, stream);
        update_tensor(d.at(j1, j0), d.at(j0, j1), d.at(j1, j1), n, n - j1, k1 - j1, j1 - j0, stream);
    }
}

/// The columns that look_ahead() factorises at a time. Above 4096 rows the update takes longer than the panels, and a
/// wider panel saves it passes through memory. While 257 to 2048 rows are left, the panels take longer, and each step
/// of a panel updates all of its columns: half as many. One block takes 64 again.
int columns_of_panel(int rows_left) {
    if (rows_left > 8192) return 8 * max_panel_columns;
    if (rows_left > 4096) return 4 * max_panel_columns;
    return rows_left > 2048 || rows_left <= max_block_rows ? max_panel_columns : max_panel_columns / 2;
}

} // namespace

void cuda_critical_path_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    gpulab::require_built_for(message_panel_kernel<32, 128, 1>, 90);
    watch.tile(max_panel_columns).tile(32).tile(128).tile(256);
    look_ahead(p, f, watch, factorise_panel, exchange_and_solve, columns_of_panel);
}

} // namespace lu
