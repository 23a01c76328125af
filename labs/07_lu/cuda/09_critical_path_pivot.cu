// Rung 9: a shorter critical path.
//
// In cuda_look_ahead_pivot the panels take longer than the update, unless n is large: they are the critical path. Each
// column of a panel is a chain of dependent operations, and only a shorter chain makes the panel faster.
// Changed: the chain.
// - Messages replace the barrier of the cluster. After the barrier the pivot's row must still be fetched from another
//   block, and the barrier includes a fence for all memory. Here each block sends its candidate, with its row, to all
//   blocks. An asynchronous store (st.async) writes into the shared memory of another block and reports its bytes to an
//   mbarrier there, an object in shared memory that counts them. When all bytes have come, the receiver has all
//   candidates and their rows.
// - Magnitudes are compared as integers: numbers without a sign have the same order as their bit patterns. One
//   instruction finds the largest integer of a warp (redux), where a reduction with shuffles takes five rounds.
// - Eight columns are unrolled, so that their places in registers are constants. A row rotates once for eight columns.
// - One division per column, 1 / pivot, is computed during the search; rows are multiplied with the result.
// - A panel has 32 columns, because a step updates all columns of the panel. While more than 2048 rows are left, two
//   panels are applied together to the rest of the matrix, which then passes through memory once for 64 columns. From
//   8193 rows on these are four panels of 16, from 16,385 on the kernels of cuda_columns_pivot take all 64.
// - Rows pass through shared memory when they are loaded and stored, so that neighbouring lanes access neighbours.
// - One kernel exchanges rows and solves for U. A warp keeps eight rows of U in registers: one barrier for eight rows.
// - While more than 4096 rows are left, a panel has 256 columns, in four parts of 64. The rest of the matrix passes
//   through memory once for all four, so that arithmetic limits its update, and no longer memory.
// - When at most 256 rows are left, one block factorises 64 columns, as in cuda_batch_panels: a warp finds a pivot
//   without asking other warps, and needs no message.
// Limit: still the chain, for n up to about 4096; then the update.
#include <algorithm>
#include <cooperative_groups.h>
#include <cstdint>

#include "cluster.hpp"
#include "gpulab/cuda/built_for.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/math.hpp"
#include "steps.hpp"

namespace lu {

namespace {

constexpr int most_blocks = most_cluster_blocks;

#if __CUDA_ARCH__ >= 900
constexpr unsigned all_lanes = 0xffffffffu;
constexpr int unrolled = 8; // columns

/// A row that may become the pivot's. high and low are the bits of the magnitude; in high the bit of the sign is set,
/// so that 0 means no candidate.
struct Candidate {
    unsigned high, low;
    int position;
};

/// NaN counts as 0: it is chosen only when there is nothing else.
__device__ Candidate candidate(double x, int position) {
    const double magnitude = x == x ? fabs(x) : 0;
    return {__double2hiint(magnitude) | 0x80000000u, static_cast<unsigned>(__double2loint(magnitude)), position};
}

/// The largest magnitude wins; of equals, the first row.
__device__ bool better(const Candidate& a, const Candidate& b) {
    if (a.high != b.high) return a.high > b.high;
    return a.low > b.low || (a.low == b.low && a.position < b.position);
}

/// The lane that has the best candidate of the warp. @param highest the largest `high` of the warp
__device__ int best_lane(const Candidate& mine, unsigned highest) {
    bool best = mine.high == highest;
    unsigned lanes = __ballot_sync(all_lanes, best);
    if (highest != 0 && (lanes & (lanes - 1)) != 0) { // several: compare the rest
        const unsigned low = __reduce_max_sync(all_lanes, best ? mine.low : 0);
        best = best && mine.low == low;
        const int first = __reduce_min_sync(all_lanes, best ? mine.position : 0x7fffffff);
        lanes = __ballot_sync(all_lanes, best && mine.position == first);
    }
    return __ffs(lanes) - 1;
}

/// The address of a variable in this block's shared memory.
__device__ unsigned here(const void* variable) { return static_cast<unsigned>(__cvta_generic_to_shared(variable)); }

/// The address of the same variable in another block of the cluster.
__device__ unsigned there(const void* variable, int rank) {
    unsigned address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(here(variable)), "r"(rank));
    return address;
}

/// Makes an mbarrier. A phase of it takes one expect().
__device__ void make_barrier(std::uint64_t* arrived) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(here(arrived)) : "memory");
}

/// Begins a phase of the mbarrier: it is complete when this many bytes have come. They may come before this call.
__device__ void expect(std::uint64_t* arrived, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(here(arrived)), "r"(bytes) : "memory");
}

/// Stores 16 bytes in the shared memory of a block, and reports them to its mbarrier.
__device__ void send(double2* to, double2 value, std::uint64_t* arrived, int rank) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];" ::"r"(there(to, rank)),
        "d"(value.x), "d"(value.y), "r"(there(arrived, rank))
        : "memory");
}

/// Waits for the end of a phase; phases are counted 0, 1, 0, 1, ...
__device__ void wait(std::uint64_t* arrived, int phase) {
    unsigned done;
    do {
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(here(arrived)), "r"(phase)
                     : "memory");
    } while (!done);
}

/// A candidate as the first pair of a message, and back.
__device__ double2 packed(const Candidate& c) {
    return {__hiloint2double(static_cast<int>(c.high), static_cast<int>(c.low)), __longlong_as_double(c.position)};
}
__device__ Candidate unpacked(double2 head) {
    return {static_cast<unsigned>(__double2hiint(head.x)), static_cast<unsigned>(__double2loint(head.x)),
            __double2loint(head.y)};
}

/// The rows that a thread keeps in registers.
template <int W, int ROWS> struct Rows {
    double a[ROWS][W];
    int position[ROWS]; ///< of each row in the matrix, after the exchanges so far
};

/// A block's shared memory. Messages are there twice, for even and odd columns: others may still read those of the
/// column before.
///
///     a message:  [ magnitude, position ] [ element 0, element 1 ] [ 2, 3 ] ... [ W - 2, W - 1 ]
template <int W, int THREADS> struct Shared {
    static constexpr int warps = THREADS / 32;
    static constexpr int pairs = 1 + W / 2; ///< of a message
    static_assert(pairs <= 32, "a warp sends a message with one instruction");

    double2 of_warp[2][warps][pairs];        ///< the best row of each warp of this block
    double2 of_block[2][most_blocks][pairs]; ///< the best row of each block, which that block sends
    std::uint64_t arrived[2];                ///< mbarriers: they count the bytes of of_block
    double tiles[warps][32][unrolled + 1];   ///< 32 rows of a warp on their way from or to the matrix
};

/// The variable itself, with its address as a number in a register, because it has passed through a shuffle. Otherwise
/// the compiler computes the address anew for each access, from the block's rank.
template <class T> __device__ T& in_register(T& variable) {
    return *static_cast<T*>(__cvta_shared_to_generic(__shfl_sync(all_lanes, here(&variable), 0)));
}

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

/// The warp writes its best candidate with its row. Here and below, u is the place of the current column in the
/// registers: a constant, because the loop over u is unrolled.
template <int W, int ROWS>
__device__ __forceinline__ void offer_best_row(const Rows<W, ROWS>& rows, int u, int diagonal, int n,
                                               double2* message) {
    Candidate mine{0, 0, 0};
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (rows.position[r] >= diagonal && rows.position[r] < n) {
            const Candidate other = candidate(rows.a[r][u], rows.position[r]);
            if (ROWS == 1 || better(other, mine)) mine = other;
        }
    const int t = threadIdx.x, lane = t % 32;
    if (lane == best_lane(mine, __reduce_max_sync(all_lanes, mine.high))) {
        message[0] = packed(mine);
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (ROWS == 1 || rows.position[r] == mine.position)
#pragma unroll
                for (int j = u / 2 * 2; j < W; j += 2) message[1 + j / 2] = {rows.a[r][j], rows.a[r][j + 1]};
    }
}

/// Sends the best message of the block's warps to all blocks, this one too. The warps divide the receivers; a lane
/// sends a pair.
template <int W, int THREADS>
__device__ __forceinline__ void send_best_row(Shared<W, THREADS>& shared, int parity, int rank, int blocks) {
    constexpr int warps = Shared<W, THREADS>::warps, pairs = Shared<W, THREADS>::pairs;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const Candidate mine = lane < warps ? unpacked(shared.of_warp[parity][lane][0]) : Candidate{0, 0, 0};
    const int best = best_lane(mine, __reduce_max_sync(all_lanes, mine.high));
    if (lane < pairs) {
        const double2 pair = shared.of_warp[parity][best][lane];
#pragma unroll 1
        for (int to = warp; to < blocks; to += warps)
            send(&shared.of_block[parity][rank][lane], pair, &shared.arrived[parity], to);
    }
}

/// The pivot of a column, as every thread knows it.
struct Pivot {
    int position;
    double reciprocal;  ///< of the element in the current column
    const double2* row; ///< in pairs, in shared memory
};

/// The best of `count` messages. A lane computes the reciprocal of one candidate while the reduction is under way.
template <int pairs> __device__ __forceinline__ Pivot choose_pivot(const double2 (*messages)[pairs], int count, int u) {
    const int t = threadIdx.x, lane = t % 32;
    Candidate mine{0, 0, 0};
    double value = 1;
    if (lane < count) {
        mine = unpacked(messages[lane][0]);
        const double2 pair = messages[lane][1 + u / 2];
        if (mine.high != 0) value = u % 2 == 0 ? pair.x : pair.y;
    }
    const unsigned highest = __reduce_max_sync(all_lanes, mine.high);
    double of_mine = 1 / value;
    asm volatile("" : "+d"(of_mine)); // here, not where it is used
    const int best = best_lane(mine, highest);
    const double reciprocal = __shfl_sync(all_lanes, of_mine, best);
    return {__shfl_sync(all_lanes, mine.position, best), reciprocal, messages[best] + 1};
}

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

/// Subtracts l times the pivot's row. The elements behind place W - done are finished.
template <int W, int ROWS>
__device__ __forceinline__ void eliminate(Rows<W, ROWS>& rows, const double (&l)[ROWS], const double2* pivot_row, int u,
                                          int done) {
#pragma unroll
    for (int j0 = 0; j0 < W; j0 += unrolled)
        if (j0 == 0 || j0 < W - done) {
#pragma unroll
            for (int j = j0; j < j0 + unrolled; j += 2) {
                if (j + 1 <= u) continue;
                const double2 pair = pivot_row[j / 2];
#pragma unroll
                for (int r = 0; r < ROWS; ++r) {
                    if (j > u) rows.a[r][j] -= l[r] * pair.x;
                    rows.a[r][j + 1] -= l[r] * pair.y;
                }
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
///      [ of_block: 2 messages ]     [ of_block: 2 messages ]   wait(): all bytes have come
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
        for (std::uint64_t& barrier : shared.arrived) make_barrier(&barrier);

    Rows<W, ROWS> rows;
    load_rows<THREADS>(rows, d, k0, width, k0 + rank * THREADS * ROWS + warp * 32, shared.tiles[warp]);
    cluster.sync(); // all mbarriers are there, and every block has begun

#pragma unroll 1
    for (int done = 0; done < W; done += unrolled) {
#pragma unroll
        for (int u = 0; u < unrolled; ++u) {
            const int k = done + u, diagonal = k0 + k, parity = u % 2;
            if (k >= width) break;
            std::uint64_t* const arrived = &shared.arrived[parity];
            if (blocks > 1 && t == 0) expect(arrived, blocks * Memory::pairs * static_cast<int>(sizeof(double2)));

            offer_best_row(rows, u, diagonal, d.n, shared.of_warp[parity][warp]);
            __syncthreads(); // the messages of all warps are there
            if (blocks > 1) {
                send_best_row(shared, parity, rank, blocks);
                wait(arrived, k / 2 % 2); // the messages of all blocks are there
            }
            const Pivot pivot = choose_pivot(blocks > 1 ? shared.of_block[parity] : shared.of_warp[parity],
                                             blocks > 1 ? blocks : Memory::warps, u);
            if (rank == 0 && t == 0) d.pivots[diagonal] = pivot.position;

            double l[ROWS];
            exchange_and_divide(rows, l, pivot, diagonal, u);
            eliminate(rows, l, pivot.row, u, done);
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
    launch_cluster(message_panel_kernel<W, THREADS, ROWS>, d.n - k0, THREADS * ROWS, THREADS, stream, d, k0, width);
}

constexpr int lanes = 32; // columns of a block of the next kernel
constexpr int warps = 8;
constexpr int each = most_panel_columns / warps; // rows of U that a warp has

/// Copies L's block of `width` rows to shared memory, without the ones on its diagonal; 0 elsewhere.
__device__ __forceinline__ void load_lower(double (&lower)[most_panel_columns][most_panel_columns],
                                           const DeviceMatrix& d, int k0, int width) {
    const int t = threadIdx.x, lane = t % lanes, warp = t / lanes;
#pragma unroll
    for (int i0 = 0; i0 < most_panel_columns; i0 += warps) // constant bounds: all loads are under way together
#pragma unroll
        for (int l0 = 0; l0 < most_panel_columns; l0 += lanes) {
            const int i = i0 + warp, k = l0 + lane;
            lower[i][k] = i < width && k < i ? d.lu[std::size_t(k0 + i) * d.n + k0 + k] : 0;
        }
}

/// The row whose contents come to row `at` through all exchanges: from the last one back to the first. With the
/// exchanges (0, 2) and (1, 2), row 2 gets what was in row 1, row 1 what was in row 0, row 0 what was in row 2:
///
///     row 0    A    C    C
///     row 1    B    B    A
///     row 2    C    A    B
///                ^    ^
///           (0, 2)    (1, 2)
__device__ __forceinline__ int origin_of(int at, const int (&steps)[most_panel_columns], int k0, int width) {
#pragma unroll 8
    for (int k = width - 1; k >= 0; --k) {
        const int pivot = steps[k];
        at = at == k0 + k ? pivot : at == pivot ? k0 + k : at;
    }
    return at;
}

/// Solves for U. A warp has `each` rows of its lanes' columns in registers, x; they become final warp by warp:
///
///     b = 0    warp 0 solves    warps 1, 2, ... subtract multiples of its rows
///     b = 1                     warp 1 solves    warps 2, 3, ... subtract
///
/// @param solved the final rows, for even and odd warps: others may still read those of the warp before
__device__ __forceinline__ void solve_rows(double (&x)[each],
                                           const double (&lower)[most_panel_columns][most_panel_columns],
                                           double (&solved)[2][each][lanes], int width) {
    const int t = threadIdx.x, lane = t % lanes, warp = t / lanes;
    for (int b = 0; b * each < width; ++b) {
        if (warp == b) {
#pragma unroll
            for (int k = 0; k < each; ++k) {
                solved[b % 2][k][lane] = x[k];
#pragma unroll
                for (int i = k + 1; i < each; ++i) x[i] -= lower[b * each + i][b * each + k] * x[k];
            }
        }
        __syncthreads(); // the rows of warp b are final
        if (warp > b) {
#pragma unroll
            for (int k = 0; k < each; ++k)
#pragma unroll
                for (int i = 0; i < each; ++i) x[i] -= lower[warp * each + i][b * each + k] * solved[b % 2][k][lane];
        }
    }
}

/// Exchanges rows as exchange_rows() does, and solves as solve_unit_lower() does. One block per 32 columns.
__global__ void __launch_bounds__(lanes* warps)
    exchange_and_solve_kernel(DeviceMatrix d, int k0, int k1, int begin, int end) {
    __shared__ int steps[most_panel_columns];    // the pivots
    __shared__ int from[2 * most_panel_columns]; // rows whose contents come to the diagonal, and to the pivots' rows
    __shared__ double lower[most_panel_columns][most_panel_columns];
    __shared__ double solved[2][each][lanes];
    const int t = threadIdx.x, lane = t % lanes, warp = t / lanes, width = k1 - k0;
    const int j = begin + blockIdx.x * lanes + lane;
    const bool inside = j < end, solve = begin >= k1;
    if (t < most_panel_columns) steps[t] = t < width ? d.pivots[k0 + t] : -1;
    if (solve) load_lower(lower, d, k0, width);
    __syncthreads();

    if (t < 2 * most_panel_columns) {
        const int at = t >= most_panel_columns ? steps[t - most_panel_columns] : t < width ? k0 + t : -1;
        from[t] = origin_of(at, steps, k0, width);
    }
    __syncthreads();

    double x[each], moved[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
        const int e = warp * each + i;
        const bool takes_part = e < width && inside;
        x[i] = takes_part ? d.lu[std::size_t(from[e]) * d.n + j] : 0;
        moved[i] = takes_part && steps[e] >= k1 ? d.lu[std::size_t(from[most_panel_columns + e]) * d.n + j] : 0;
    }
    __syncthreads(); // all is read before anything is written
#pragma unroll
    for (int i = 0; i < each; ++i) { // a row that is named twice is written twice, with the same contents
        const int e = warp * each + i;
        if (e < width && inside && steps[e] >= k1) d.lu[std::size_t(steps[e]) * d.n + j] = moved[i];
    }

    if (solve) solve_rows(x, lower, solved, width);
#pragma unroll
    for (int i = 0; i < each; ++i)
        if (warp * each + i < width && inside) d.lu[std::size_t(k0 + warp * each + i) * d.n + j] = x[i];
}

void exchange_and_solve(const DeviceMatrix& d, int k0, int k1, int begin, int end, cudaStream_t stream) {
    if (begin >= end) return;
    exchange_and_solve_kernel<<<gpulab::grid_size(end - begin, lanes), lanes * warps, 0, stream>>>(d, k0, k1, begin,
                                                                                                   end);
}

void factorise_panel(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream) {
    const int n = d.n, rows = n - k0;
    if (rows > most_blocks * 1024) return factorise_columns(d, k0, k1, stream);
    if (rows <= most_block_rows) return factorise_panel_in_block(d, k0, k1, stream);
    const int width = rows <= most_blocks * 512 ? 32 : 16;
    for (int j0 = k0; j0 < k1; j0 += width) {
        const int j1 = std::min(j0 + width, k1);
        if (n - j0 <= most_blocks * 128) launch_panel<32, 128, 1>(d, j0, j1 - j0, stream);
        else if (n - j0 <= most_blocks * 256) launch_panel<32, 256, 1>(d, j0, j1 - j0, stream);
        else if (width == 32) launch_panel<32, 256, 2>(d, j0, j1 - j0, stream);
        else launch_panel<16, 256, 4>(d, j0, j1 - j0, stream);
        exchange_and_solve(d, j0, j1, k0, j0, stream);
        if (j1 == k1) break;
        exchange_and_solve(d, j0, j1, j1, k1, stream);
        update_tensor(d.at(j1, j0), n, d.at(j0, j1), n, d.at(j1, j1), n, n - j1, k1 - j1, j1 - j0, stream);
    }
}

/// The columns that look_ahead() factorises at a time. Above 4096 rows the update takes longer than the panels, and a
/// wider panel saves it passes through memory. While 257 to 2048 rows are left, the panels take longer, and each step
/// of a panel updates all of its columns: half as many. One block takes 64 again.
int columns_of_panel(int rows_left) {
    if (rows_left > 4096) return 4 * most_panel_columns;
    return rows_left > 2048 || rows_left <= most_block_rows ? most_panel_columns : most_panel_columns / 2;
}

} // namespace

void cuda_critical_path_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    gpulab::require_built_for(message_panel_kernel<32, 128, 1>, 90);
    watch.tile(most_panel_columns), watch.tile(32), watch.tile(128), watch.tile(256);
    look_ahead(p, f, watch, factorise_panel, exchange_and_solve, columns_of_panel);
}

} // namespace lu
