/// @file
/// How a warp brings 256 neighbouring equations from memory into the registers of its lanes, eight to each, and how the
/// lanes of a warp or of a block solve them together. Shared by cuda_registers and cuda_partition.
#pragma once

#include <cstddef>

#include "lane.hpp"

namespace tridiagonal {

/// Equations of a warp.
inline constexpr unsigned warp_slots = 32 * run_length, slots_shift = 8;
static_assert(warp_slots == 1u << slots_shift);
/// Size of the shared memory through which a warp exchanges them, in numbers. There is a gap after each run, so that
/// the lanes, which read run_length apart, access different banks.
inline constexpr unsigned warp_exchange = warp_slots + 32;

inline constexpr unsigned all_lanes = 0xFFFFFFFFu;

/// The arrays of the equations. b may be null: all ones.
template <class T> struct Equations { const T *a, *b, *c, *d; };

/// Maps the slots of a warp, 0 ... 255, to equations. After 2^shift slots the next system begins at row 0; with a power
/// of two, finding the equation takes no division.
struct Slots {
    unsigned system, row; ///< of slot 0
    unsigned shift;       ///< at most slots_shift
    unsigned n, systems;

    __device__ unsigned row_of(unsigned slot) const { return row + (slot & ((1u << shift) - 1)); }
    __device__ unsigned system_of(unsigned slot) const { return system + (slot >> shift); }
    /// Whether the slot has an equation; a slot without one gets x = 0.
    __device__ bool inside(unsigned slot) const { return system_of(slot) < systems && row_of(slot) < n; }
    __device__ std::size_t at(unsigned slot) const {
        return static_cast<std::size_t>(system_of(slot)) * n + row_of(slot);
    }
};

/// Slots k * 32 + lane become slots lane * 8 + k: neighbouring lanes load neighbours, then each lane gets neighbours.
template <class T> __device__ __forceinline__ void to_runs(T (&v)[run_length], T* exchange, unsigned lane) {
#pragma unroll
    for (unsigned k = 0; k < run_length; ++k) {
        const unsigned slot = k * 32 + lane;
        exchange[slot + slot / run_length] = v[k];
    }
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < run_length; ++k) v[k] = exchange[lane * (run_length + 1) + k];
    __syncwarp(); // before the next array overwrites this one
}

/// The way back.
template <class T> __device__ __forceinline__ void from_runs(T (&v)[run_length], T* exchange, unsigned lane) {
#pragma unroll
    for (unsigned k = 0; k < run_length; ++k) exchange[lane * (run_length + 1) + k] = v[k];
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < run_length; ++k) {
        const unsigned slot = k * 32 + lane;
        v[k] = exchange[slot + slot / run_length];
    }
    __syncwarp();
}

/// Loads the warp's equations. A lane issues all its 32 loads before it waits for the first.
/// a of row 0 and c of the last row become 0, whatever they hold.
template <class T>
__device__ __forceinline__ void load_runs(const Equations<T>& in, const Slots& slots, LaneRun<T>& run, T* exchange,
                                          unsigned lane) {
#pragma unroll
    for (unsigned k = 0; k < run_length; ++k) {
        const unsigned slot = k * 32 + lane, row = slots.row_of(slot);
        const bool inside = slots.inside(slot);
        const std::size_t at = slots.at(slot);
        run.a[k] = inside && row > 0 ? in.a[at] : T{0};
        run.b[k] = inside && in.b != nullptr ? in.b[at] : T{1};
        run.c[k] = inside && row + 1 < slots.n ? in.c[at] : T{0};
        run.d[k] = inside ? in.d[at] : T{0};
    }
    to_runs(run.a, exchange, lane);
    to_runs(run.b, exchange, lane);
    to_runs(run.c, exchange, lane);
    to_runs(run.d, exchange, lane);
}

/// Stores the unknowns, which substitute() left in d.
template <class T>
__device__ __forceinline__ void store_runs(LaneRun<T>& run, const Slots& slots, T* x, T* exchange, unsigned lane) {
    from_runs(run.d, exchange, lane);
#pragma unroll
    for (unsigned k = 0; k < run_length; ++k) {
        const unsigned slot = k * 32 + lane;
        if (slots.inside(slot)) x[slots.at(slot)] = run.d[k];
    }
}

/// An interface equation of the lane `distance` after this one, within groups of `lanes`.
template <class T> __device__ __forceinline__ Unit<T> from_after(const Unit<T>& e, unsigned distance, unsigned lanes) {
    return {__shfl_down_sync(all_lanes, e.a, distance, lanes), __shfl_down_sync(all_lanes, e.c, distance, lanes),
            __shfl_down_sync(all_lanes, e.d, distance, lanes)};
}
/// The same for the lane `distance` before this one.
template <class T> __device__ __forceinline__ Unit<T> from_before(const Unit<T>& e, unsigned distance, unsigned lanes) {
    return {__shfl_up_sync(all_lanes, e.a, distance, lanes), __shfl_up_sync(all_lanes, e.c, distance, lanes),
            __shfl_up_sync(all_lanes, e.d, distance, lanes)};
}

/// Solves the systems of a warp: each lane eliminates its run, parallel cyclic reduction over the lanes finds the last
/// unknown of each run, and each lane substitutes.
/// @param lanes of each system: a power of two, at most 32
/// @param zero -1, or the number within the run of an equation of this lane whose pivot is zero
template <class T>
__device__ __forceinline__ void solve_in_warp(LaneRun<T>& run, unsigned lane, unsigned lanes, int& zero) {
    const unsigned k = lane & (lanes - 1); // within the system
    eliminate(run, zero);
    Unit<T> after = from_after(first_of(run), 1, lanes);
    if (k + 1 == lanes) after = no_neighbour<T>();
    Unit<T> e = join(first_of(run), last_of(run), after, zero);
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
        Unit<T> before = from_before(e, distance, lanes);
        after = from_after(e, distance, lanes);
        // Another system of the same warp is no neighbour: zero times its NaN would be NaN.
        if (k < distance) before = no_neighbour<T>();
        if (k + distance >= lanes) after = no_neighbour<T>();
        e = reduce(e, before, after, zero);
    }
    T last_before = __shfl_up_sync(all_lanes, e.d, 1, lanes);
    if (k == 0) last_before = 0;
    substitute(run, last_before, e.d);
}

/// Most threads, and most equations, of a block that solves one system.
inline constexpr unsigned block_lanes = 128, block_slots = block_lanes * run_length;

/// Shared memory in which the lanes of a block show each other their interface equations.
template <class T, unsigned LANES = block_lanes> struct NearLanes {
    T a[LANES], c[LANES], d[LANES];

    __device__ void show(const Unit<T>& e) { a[threadIdx.x] = e.a, c[threadIdx.x] = e.c, d[threadIdx.x] = e.d; }
    /// @param lane a number below 0 wraps to one larger than blockDim.x: no neighbour either
    __device__ Unit<T> see(unsigned lane) const {
        return lane < blockDim.x ? Unit<T>{a[lane], c[lane], d[lane]} : no_neighbour<T>();
    }
};

/// Eliminates the run of each lane of a block, and reduces the interface equations until each holds, besides its own
/// unknown, only those of the lanes `reach` before and after. All lanes then see all equations in `near`.
/// @return the equation of this lane
template <class T, unsigned LANES>
__device__ __forceinline__ Unit<T> reduce_in_block(LaneRun<T>& run, NearLanes<T, LANES>& near, unsigned reach,
                                                   int& zero) {
    const unsigned k = threadIdx.x;
    eliminate(run, zero);
    near.show(first_of(run));
    __syncthreads(); // all first equations are there
    Unit<T> e = join(first_of(run), last_of(run), near.see(k + 1), zero);
    for (unsigned distance = 1; distance < reach; distance *= 2) {
        __syncthreads(); // everyone has read what the next line overwrites
        near.show(e);
        __syncthreads();
        e = reduce(e, near.see(k - distance), near.see(k + distance), zero);
    }
    __syncthreads();
    near.show(e);
    __syncthreads();
    return e;
}

/// Solves the one system of a block: as solve_in_warp(), with shared memory and barriers in place of shuffles.
template <class T> __device__ __forceinline__ void solve_in_block(LaneRun<T>& run, NearLanes<T>& near, int& zero) {
    const Unit<T> e = reduce_in_block(run, near, blockDim.x, zero);
    substitute(run, threadIdx.x == 0 ? T{0} : near.d[threadIdx.x - 1], e.d);
}

} // namespace tridiagonal
