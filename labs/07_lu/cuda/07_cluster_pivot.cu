// Rung 7: the panel in the registers of a thread-block cluster.
//
// A cluster is a group of up to 16 blocks that run at the same time on neighbouring multiprocessors (compute capability
// 9.0). The blocks of a cluster have a barrier of their own, and each can read the shared memory of the others.
// Changed: one kernel factorises the whole panel. Each thread keeps one row of it in registers, up to 64 numbers. For
// each column there is one barrier of the cluster:
// - Before it, each block finds its best candidate with shuffles and writes it, with its row, to its shared memory.
// - After it, each block reads the candidates of all blocks and the row of the best one.
// - Then each thread subtracts a multiple of that row from its own.
// No row moves between threads: a thread records the position of its row after each exchange, and stores the row there
// at the end. An array in registers cannot be indexed with a variable. Therefore each step rotates a row by one place:
// element 0 always belongs to the current column, and finished elements move to the end.
// Panels of more than 4096 rows do not fit in 16 blocks of 256 threads with 64 numbers each. They are divided into
// panels of 32 or 16 columns for blocks of 512 or 1024 threads. Beyond 16384 rows factorise_columns() does the panel.
// Limit: the chain of barriers, one for each column. It uses at most 16 multiprocessors.
#include <algorithm>
#include <cooperative_groups.h>

#include "cluster.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/built_for.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"
#include "studies.hpp"

namespace lu {

namespace {

constexpr int max_blocks = max_cluster_blocks;

/// A row that may become the pivot's: the magnitude of its element in the current column, and its position. A block
/// that has no rows left has a candidate of magnitude -1.
struct Candidate {
    double magnitude;
    int position;
};

/// The best of `lanes` neighbouring lanes, in each of them: the largest magnitude; of equals, the first row.
/// @tparam lanes a power of two up to 32
template <int lanes> __device__ Candidate best_of_lanes(Candidate mine) {
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
        const Candidate other{__shfl_xor_sync(0xffffffffu, mine.magnitude, distance),
                              __shfl_xor_sync(0xffffffffu, mine.position, distance)};
        if (other.magnitude > mine.magnitude || (other.magnitude == mine.magnitude && other.position < mine.position))
            mine = other;
    }
    return mine;
}

/// Factorises the columns k0 ... k0 + width - 1, from row k0 down. One cluster, with a thread for each row.
/// @tparam W the numbers of a row that a thread has room for, at least `width`
template <int W, int THREADS>
__global__ void __launch_bounds__(THREADS) cluster_panel_kernel(DeviceMatrix d, int k0, int width) {
#if __CUDA_ARCH__ >= 900
    namespace cg = cooperative_groups;
    constexpr int warps = THREADS / 32;
    __shared__ Candidate of_warp[warps];
    __shared__ Candidate of_block[2]; // for even and odd steps: others may still read that of the step before
    __shared__ double its_row[2][W];  // the candidate's row
    __shared__ double pivot_row[W];   // the best candidate's
    const cg::cluster_group cluster = cg::this_cluster();
    const int t = threadIdx.x, lane = t % 32, blocks = cluster.num_blocks();
    const int row = k0 + static_cast<int>(cluster.block_rank()) * THREADS + t; // the row that this thread loads
    int position = row;                                                        // of that row after the exchanges so far

    double a[W];
#pragma unroll
    for (int j = 0; j < W; ++j) a[j] = row < d.n && j < width ? d.lu[std::size_t(row) * d.n + k0 + j] : 0;

    for (int k = 0; k < width; ++k) {
        const int diagonal = k0 + k, parity = k % 2;

        // The block's best candidate, and its row. NaN counts as 0: it is chosen only when there is nothing else.
        const double magnitude = fabs(a[0]);
        Candidate best{-1, d.n};
        if (row < d.n && position >= diagonal) best = {magnitude >= 0 ? magnitude : 0, position};
        best = best_of_lanes<32>(best);
        if (lane == 0) of_warp[t / 32] = best;
        __syncthreads();
        best = best_of_lanes<warps>(of_warp[lane % warps]);
        if (t == 0) of_block[parity] = best;
        if (row < d.n && position == best.position) {
#pragma unroll
            for (int j = 0; j < W; ++j) its_row[parity][j] = a[j];
        }
        cluster.sync(); // the candidates of all blocks are there

        // The best of all blocks; each warp finds it for itself.
        const int rank = lane % max_blocks;
        Candidate other{-1, d.n};
        if (rank < blocks) other = *cluster.map_shared_rank(&of_block[parity], rank);
        const Candidate pivot = best_of_lanes<max_blocks>(other);
        const bool here = rank < blocks && other.position == pivot.position; // true in one lane of each 16
        const int owner = (__ffs(__ballot_sync(0xffffffffu, here)) - 1) % max_blocks;
        // The elements that were moved to the end are finished: nothing is subtracted from them.
        for (int j = t; j < W; j += THREADS)
            pivot_row[j] = j < width - k ? cluster.map_shared_rank(its_row[parity], owner)[j] : 0;
        if (row == k0) d.pivots[diagonal] = pivot.position;
        __syncthreads(); // the pivot's row is there

        // The exchange: only positions change.
        if (position == pivot.position) position = diagonal;
        else if (position == diagonal) position = pivot.position;

        // The elimination, and the rotation by one place.
        const bool below = position > diagonal;
        const double first = below ? a[0] / pivot_row[0] : a[0];
#pragma unroll
        for (int j = 0; j + 1 < W; ++j) a[j] = below ? a[j + 1] - first * pivot_row[j + 1] : a[j + 1];
        a[W - 1] = first;
    }
    for (int k = width; k < W; ++k) { // the rest of the full rotation
        const double first = a[0];
#pragma unroll
        for (int j = 0; j + 1 < W; ++j) a[j] = a[j + 1];
        a[W - 1] = first;
    }

    // Every thread has loaded its row before the first barrier of the cluster: the rows may be overwritten.
    if (row < d.n) {
#pragma unroll
        for (int j = 0; j < W; ++j)
            if (j < width) d.lu[std::size_t(position) * d.n + k0 + j] = a[j];
    }
    cluster.sync(); // nobody ends while another block may read its shared memory
#endif
}

/// Launches one cluster with a thread for each row from k0 down.
template <int W, int THREADS> void launch_panel(const DeviceMatrix& d, int k0, int width, cudaStream_t stream) {
    launch_cluster(cluster_panel_kernel<W, THREADS>, d.n - k0, THREADS, THREADS, false, false, stream, d, k0, width);
}

/// How many columns of a panel with this number of rows fit a cluster's registers; 0: too many rows.
int columns_in_cluster(int rows) {
    return rows <= max_blocks * 256 ? 64 : rows <= max_blocks * 512 ? 32 : rows <= max_blocks * 1024 ? 16 : 0;
}

} // namespace

void require_clusters() { gpulab::require_built_for(cluster_panel_kernel<64, 256>, 90); }

void factorise_panel_in_cluster(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream) {
    const int n = d.n, width = columns_in_cluster(n - k0);
    if (width == 0) return factorise_columns(d, k0, k1, stream);
    for (int j0 = k0; j0 < k1; j0 += width) { // once, unless the panel is too tall
        const int j1 = std::min(j0 + width, k1);
        if (width == 64) launch_panel<64, 256>(d, j0, j1 - j0, stream);
        else if (width == 32) launch_panel<32, 512>(d, j0, j1 - j0, stream);
        else launch_panel<16, 1024>(d, j0, j1 - j0, stream);
        exchange_rows(d, j0, j1, k0, k1, j0, j1, stream);
        if (j1 == k1) break;
        solve_unit_lower(d.at(j0, j0), n, d.at(j0, j1), n, j1 - j0, k1 - j1, stream);
        update_tensor(d.at(j1, j0), d.at(j0, j1), d.at(j1, j1), n, n - j1, k1 - j1, j1 - j0, stream);
    }
}

void cuda_cluster_of_width(const Problem& p, Factors& f, Stopwatch& watch, int width) {
    require_clusters();
    DeviceFactors d(p);
    const DeviceMatrix a{d.lu.data(), static_cast<int>(p.n), d.pivots.data()};
    const int n = a.n;
    watch.tile(width).tile(256).tile(128).tile(32);
    const auto launch = [&](cudaStream_t stream) {
        for (int k0 = 0; k0 < n; k0 += width) {
            const int k1 = std::min(k0 + width, n);
            factorise_panel_in_cluster(a, k0, k1, stream);
            exchange_rows(a, k0, k1, 0, n, k0, k1, stream);
            if (k1 == n) break;
            solve_unit_lower(a.at(k0, k0), n, a.at(k0, k1), n, k1 - k0, n - k1, stream);
            update_tensor(a.at(k1, k0), a.at(k0, k1), a.at(k1, k1), n, n - k1, n - k1, k1 - k0, stream);
        }
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.copy_to(f, true);
}

void cuda_cluster_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    cuda_cluster_of_width(p, f, watch, max_panel_columns);
}

} // namespace lu
