/// @file
/// Messages replace the barrier of the cluster. A block sends its best candidate, with its row, to all blocks. An
/// asynchronous store (st.async) writes into the shared memory of another block and reports its bytes to a barrier
/// there. When all bytes have come, the receiver has all candidates and their rows:
///
///     block 0   of_warp --send_best_row()-->  of_block[0] of every block      arrived += bytes
///     block 1   of_warp --send_best_row()-->  of_block[1] of every block      arrived += bytes
///                                             arrived is complete: choose_pivot() of of_block[0], of_block[1]
///
/// For cuda_critical_path_pivot, from compute capability 9.0 on.
#pragma once

#include "cluster.hpp"
#include "gpulab/cuda/barrier.cuh"
#include "pivot_candidates.cuh"
#include "register_rows.cuh"

namespace lu {

#if __CUDA_ARCH__ >= 900
/// The address of a variable in the shared memory of another block of the cluster.
__device__ inline unsigned address_in(const void* variable, int rank) {
    unsigned address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(gpulab::shared_address(variable)), "r"(rank));
    return address;
}

/// Stores 16 bytes in the shared memory of a block, and reports them to its barrier.
__device__ inline void send(double2* to, double2 value, gpulab::Barrier* arrived, int rank) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64 [%0], {%1, %2}, [%3];" ::"r"(
                     address_in(to, rank)),
                 "d"(value.x), "d"(value.y), "r"(address_in(arrived, rank))
                 : "memory");
}

/// A candidate as the first pair of a message, and back.
__device__ inline double2 packed(const Candidate& c) {
    return {__hiloint2double(static_cast<int>(c.high), static_cast<int>(c.low)), __longlong_as_double(c.position)};
}
__device__ inline Candidate unpacked(double2 head) {
    return {static_cast<unsigned>(__double2hiint(head.x)), static_cast<unsigned>(__double2loint(head.x)),
            __double2loint(head.y)};
}

/// A block's shared memory. Messages are there twice, for even and odd columns: others may still read those of the
/// column before.
///
///     a message:  [ magnitude, position ] [ 1 / candidate, - ] [ element 0, element 1 ] [ 2, 3 ] ... [ W - 2, W - 1 ]
///
/// When `done` columns are finished, it ends with element W - done - 1.
template <int W, int THREADS> struct Shared {
    static constexpr int warps = THREADS / 32;
    static constexpr int pairs = 2 + W / 2; ///< of a message, at most
    static_assert(pairs <= 32, "a warp sends a message with one instruction");

    double2 of_warp[2][warps][pairs];               ///< the best row of each warp of this block
    double2 of_block[2][max_cluster_blocks][pairs]; ///< the best row of each block, which that block sends
    gpulab::Barrier arrived[2];                     ///< they count the bytes of of_block
    double tiles[warps][32][unrolled + 1];          ///< 32 rows of a warp on their way from or to the matrix
};

/// The variable itself, with its address as a number in a register, because it has passed through a shuffle. Otherwise
/// the compiler computes the address anew for each access, from the block's rank.
template <class T> __device__ T& in_register(T& variable) {
    return *static_cast<T*>(__cvta_shared_to_generic(__shfl_sync(all_lanes, gpulab::shared_address(&variable), 0)));
}

/// The candidates of a warp for the next pivot.
struct Search {
    Candidate mine;    ///< of this lane
    double reciprocal; ///< of its element
    unsigned highest;  ///< the largest `high` of the warp
};

/// Looks for the best candidate in place u of the rows, a constant. The result is needed later: other arithmetic hides
/// how long the search takes.
template <int W, int ROWS>
__device__ __forceinline__ Search search(const Rows<W, ROWS>& rows, int u, int diagonal, int n) {
    Candidate mine{0, 0, 0};
    double value = 1;
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (rows.position[r] >= diagonal && rows.position[r] < n) {
            const Candidate other = candidate(rows.a[r][u], rows.position[r]);
            if (ROWS == 1 || better(other, mine)) {
                mine = other;
                value = rows.a[r][u];
            }
        }
    const unsigned highest = __reduce_max_sync(all_lanes, mine.high);
    return {mine, 1 / value, highest};
}

/// The warp writes its best candidate with its row. Here and below, u is the place of the current column in the
/// registers: a constant, because the loop over u is unrolled.
template <int W, int ROWS>
__device__ __forceinline__ void offer_best_row(const Rows<W, ROWS>& rows, const Search& found, int u, int done,
                                               double2* message) {
    const int t = threadIdx.x, lane = t % 32;
    if (lane != best_lane(found.mine, found.highest)) return;
    message[0] = packed(found.mine);
    message[1] = {found.reciprocal, 0};
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        if (ROWS == 1 || rows.position[r] == found.mine.position)
#pragma unroll
            for (int j0 = 0; j0 < W; j0 += unrolled)
                if (j0 == 0 || j0 < W - done) {
#pragma unroll
                    for (int j = j0; j < j0 + unrolled; j += 2)
                        if (j + 1 >= u) message[2 + j / 2] = {rows.a[r][j], rows.a[r][j + 1]};
                }
}

/// Sends the best message of the block's warps to all blocks, this one too. The warps divide the receivers; a lane
/// sends a pair. @param pairs of a message
template <int W, int THREADS>
__device__ __forceinline__ void send_best_row(Shared<W, THREADS>& shared, int parity, int rank, int blocks, int pairs) {
    constexpr int warps = Shared<W, THREADS>::warps;
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

/// The best of `count` messages.
template <int pairs> __device__ __forceinline__ Pivot choose_pivot(const double2 (*messages)[pairs], int count) {
    const int t = threadIdx.x, lane = t % 32;
    const Candidate mine = lane < count ? unpacked(messages[lane][0]) : Candidate{0, 0, 0};
    const int best = best_lane(mine, __reduce_max_sync(all_lanes, mine.high));
    return {unpacked(messages[best][0]).position, messages[best][1].x, messages[best] + 2};
}
#endif

} // namespace lu
