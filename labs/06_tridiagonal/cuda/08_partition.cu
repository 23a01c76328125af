// CUDA rung 8: systems of any size over many blocks, by overlapping windows or by partition (Wang, ACM TOMS 7 (2),
// 1981).
//
// Changed: from 2^19 unknowns on, first one pass. In a diagonally dominant matrix the influence of an unknown falls off
// with the distance. So blocks solve windows that overlap, each with what it sees of the system alone, and test that
// nothing outside counts. Five numbers pass through memory for each unknown. Where the test fails, no window can be
// trusted; then the rest of the blocks stop at once, and two passes follow, for any matrix. A system is cut into chunks
// of 256 equations, a warp for each:
//   1. Every warp loads its chunk, its lanes eliminate their runs as in cuda_registers, and a tree of merges (of
//      16 pairs of lanes, then 8, ...) leaves the chunk's first and last equation, which hold only the first and last
//      unknown of this chunk and one unknown of each neighbour. They are rows 2 q and 2 q + 1 of a coarse system, which
//      is tridiagonal as well and 128 times smaller. Only these rows are stored.
//   2. When the coarse system is solved, the unknowns on both sides of a chunk are known. Every warp loads its chunk
//      again, moves them to the right-hand side, and solves 256 equations as in cuda_registers.
// The coarse system is cut in the same way, until a level has no more than 1024 equations, which one block solves as in
// cuda_registers: 2^24 unknowns take three levels. Loading a chunk twice moves fewer bytes than storing its
// eliminated equations: 9 numbers for each unknown, 4 + 4 read and 1 written. The zero pivot of a coarse level is
// reported as the row from which its equation came. Blocks report zero pivots with atomicMin(), so zero_pivot must be
// -1 at the start; setting it is part of the time.
// Limit: memory, five arrays in one pass, nine in two. The coarse levels have too few warps for the device; each costs
// a launch and the latency of one chunk, twice. The kernels of the two passes are launched in any case; where the
// windows have solved everything, their blocks end at once.
#include <vector>

#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "studies.hpp"
#include "warp_run.cuh"

namespace tridiagonal {

namespace {
constexpr unsigned partition_threads = 128, partition_warps = partition_threads / 32;
constexpr unsigned reach = 8, halo = 2 * reach;                                              // lanes
constexpr unsigned window_lanes = 256, window_rows = (window_lanes - 2 * halo) * run_length; // without the halos
constexpr std::size_t windows_from = 1 << 19; // unknowns. With fewer, the two passes are as fast
/// A share of a sum that rounding hides, with a wide margin.
template <class T> constexpr T negligible = sizeof(T) == 4 ? T(0x1p-30) : T(0x1p-60);
} // namespace

/// The systems of one level, and where its zero pivots are reported.
template <class T> struct Level {
    Equations<T> equations;
    unsigned n, systems, chunks; ///< equations of a system; chunks of a system
    unsigned level;              ///< 0: the systems themselves
    unsigned n_0;                ///< equations of a system at level 0
    unsigned* zero_pivot;
    const int* solved; ///< not 0: partition_windows_kernel() has found all unknowns
};

/// Reports a zero pivot of a level: the row at level 0 from which this row comes.
template <class T> __device__ void report_zero_pivot(const Level<T>& l, unsigned system, unsigned row) {
    for (unsigned level = l.level; level > 0; --level)
        row = row / 2 * warp_slots + (row % 2 == 0 ? 0 : warp_slots - 1); // first or last of its chunk
    atomicMin(&l.zero_pivot[system], min(row, l.n_0 - 1));
}

/// The attempt to solve everything in one pass. A block solves a window by parallel cyclic reduction, as
/// solve_in_block() does, but stops when an equation holds, besides its own unknown, only those `reach` lanes before
/// and after. If these two contribute nothing that the rounded sum would show, the unknown is known.
///
///     window q      | halo | the block's own lanes | halo |
///     window q + 1                          | halo | the block's own lanes | halo |
///
/// Only the outer half of a halo depends on what lies outside the window. So a block tests its own unknowns with the
/// very numbers that its neighbours store.
/// @param solved becomes 0 when a test fails or a pivot is zero
template <class T>
__global__ void __launch_bounds__(window_lanes) partition_windows_kernel(Level<T> l, T* __restrict__ x, int* solved) {
    __shared__ T exchange[window_lanes / 32][warp_exchange];
    __shared__ NearLanes<T, window_lanes> near;
    __shared__ int go_on;
    if (threadIdx.x == 0) go_on = atomicOr(solved, 0);
    __syncthreads();
    if (!go_on) return; // another block has failed: the two passes will solve everything
    const unsigned k = threadIdx.x, warp = k / 32, lane = k % 32;
    const unsigned windows = (l.n + window_rows - 1) / window_rows;
    const unsigned in_window = warp * warp_slots; // rows of this warp, from the first row of the window
    // Below row 0 the numbers of rows wrap around. There are no such rows: they get x = 0.
    const Slots slots{blockIdx.x / windows, blockIdx.x % windows * window_rows - halo * run_length + in_window,
                      slots_shift, l.n, l.systems};

    LaneRun<T> run;
    load_runs(l.equations, slots, run, exchange[warp], lane);
    int zero = -1;
    const Unit<T> e = reduce_in_block(run, near, reach, zero);
    bool fails = false;
    if (k >= halo && k < window_lanes - halo) {
        const T far = fabs(e.a * near.d[k - reach]) + fabs(e.c * near.d[k + reach]);
        fails = zero >= 0 || !(far <= negligible<T> * fabs(e.d)); // also where there is a NaN
        substitute(run, near.d[k - 1], e.d);
    }
    if (__any_sync(all_lanes, fails) && lane == 0) atomicAnd(solved, 0);
    from_runs(run.d, exchange[warp], lane);
#pragma unroll
    for (unsigned i = 0; i < run_length; ++i) {
        const unsigned slot = i * 32 + lane;
        if (in_window + slot - halo * run_length < window_rows && slots.inside(slot)) x[slots.at(slot)] = run.d[i];
    }
}

/// The chunk of a warp.
template <class T> struct Chunk {
    unsigned system, q;
    Slots slots;
    __device__ Chunk(const Level<T>& l, unsigned warp_of_grid)
        : system(warp_of_grid / l.chunks),
          q(warp_of_grid % l.chunks), slots{system, q * warp_slots, slots_shift, l.n, l.systems} {}
};

/// Pass 1: two equations of the coarse system for each chunk. Their b is 1 and not stored.
template <class T>
__global__ void __launch_bounds__(partition_threads)
    partition_reduce_kernel(Level<T> l, T* __restrict__ coarse_a, T* __restrict__ coarse_c, T* __restrict__ coarse_d) {
    __shared__ T exchange[partition_warps][warp_exchange];
    if (l.solved != nullptr && *l.solved) return;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Chunk<T> chunk(l, blockIdx.x * partition_warps + warp);
    if (chunk.system >= l.systems) return; // the same for all lanes of a warp, and no barrier of the block follows

    LaneRun<T> run;
    load_runs(l.equations, chunk.slots, run, exchange[warp], lane);
    int zero = -1;
    eliminate(run, zero);
    if (zero >= 0)
        report_zero_pivot(l, chunk.system, chunk.q * warp_slots + lane * run_length + static_cast<unsigned>(zero));

    Stretch<T> stretch{first_of(run), last_of(run)};
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const Stretch<T> right{from_after(stretch.first, distance, 32), from_after(stretch.last, distance, 32)};
        if (lane % (2 * distance) == 0) { // the first lane of a stretch; the others only come to the next shuffle
            int at = -1;
            stretch = merge(stretch, right, at);
            if (at >= 0) {
                const unsigned begin = chunk.q * warp_slots + lane * run_length, length = distance * run_length;
                report_zero_pivot(l, chunk.system, at == 0 ? begin : begin + static_cast<unsigned>(at) * length - 1);
            }
        }
    }
    if (lane == 0) {
        const std::size_t row = 2 * (static_cast<std::size_t>(chunk.system) * l.chunks + chunk.q);
        coarse_a[row] = stretch.first.a;
        coarse_a[row + 1] = stretch.last.a;
        coarse_c[row] = stretch.first.c;
        coarse_c[row + 1] = stretch.last.c;
        coarse_d[row] = stretch.first.d;
        coarse_d[row + 1] = stretch.last.d;
    }
}

/// Pass 2: the unknowns of each chunk. @param coarse_x of the coarse system
template <class T>
__global__ void __launch_bounds__(partition_threads)
    partition_substitute_kernel(Level<T> l, const T* __restrict__ coarse_x, T* __restrict__ x) {
    __shared__ T exchange[partition_warps][warp_exchange];
    if (l.solved != nullptr && *l.solved) return;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // From the last chunk to the first: those that pass 1 loaded last may still lie in the L2 cache.
    const Chunk<T> chunk(l, (gridDim.x - 1 - blockIdx.x) * partition_warps + warp);
    if (chunk.system >= l.systems) return;

    const std::size_t row = 2 * (static_cast<std::size_t>(chunk.system) * l.chunks + chunk.q);
    const bool has_before = lane == 0 && chunk.q > 0, has_after = lane == 31 && chunk.q + 1 < l.chunks;
    const T before = has_before ? coarse_x[row - 1] : T{0}; // the last unknown of the chunk before
    const T after = has_after ? coarse_x[row + 2] : T{0};   // the first of the chunk after
    LaneRun<T> run;
    load_runs(l.equations, chunk.slots, run, exchange[warp], lane); // in flight together with those two
    if (has_before) {
        run.d[0] -= run.a[0] * before;
        run.a[0] = 0;
    }
    if (has_after) {
        run.d[run_length - 1] -= run.c[run_length - 1] * after;
        run.c[run_length - 1] = 0;
    }
    int zero = -1;
    solve_in_warp(run, lane, 32, zero);
    if (zero >= 0)
        report_zero_pivot(l, chunk.system, chunk.q * warp_slots + lane * run_length + static_cast<unsigned>(zero));
    store_runs(run, chunk.slots, x, exchange[warp], lane);
}

/// Solves the systems of the coarsest level, a block for each.
template <class T>
__global__ void __launch_bounds__(block_lanes) partition_coarsest_kernel(Level<T> l, T* __restrict__ x) {
    __shared__ T exchange[block_lanes / 32][warp_exchange];
    __shared__ NearLanes<T> near;
    if (l.solved != nullptr && *l.solved) return;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Slots slots{blockIdx.x, warp * warp_slots, slots_shift, l.n, l.systems};

    LaneRun<T> run;
    load_runs(l.equations, slots, run, exchange[warp], lane);
    int zero = -1;
    solve_in_block(run, near, zero);
    if (zero >= 0) report_zero_pivot(l, blockIdx.x, threadIdx.x * run_length + static_cast<unsigned>(zero));
    store_runs(run, slots, x, exchange[warp], lane);
}

/// The coarse systems of one level in device memory.
template <class T> struct CoarseSystems {
    explicit CoarseSystems(std::size_t size) : a(size), c(size), d(size), x(size) {}
    gpulab::DeviceBuffer<T> a, c, d, x;
};

/// See gpulab::poisoning().
template <class T> void poison(CoarseSystems<T>& coarse, cudaStream_t stream) {
    for (gpulab::DeviceBuffer<T>* const buffer : {&coarse.a, &coarse.c, &coarse.d, &coarse.x})
        buffer->poison_async(stream);
}

/// @param try_windows whether to try to solve everything in one pass
template <class T> void solve_by_partition(const Problem<T>& p, Output<T>& out, Stopwatch& watch, bool try_windows) {
    const DeviceProblem<T> in(p);
    DeviceOutput<T> result(p);
    auto* const zero_pivot = reinterpret_cast<unsigned*>(result.zero_pivot.data()); // -1 is the largest unsigned number

    gpulab::DeviceBuffer<int> solved(1);

    // Level 0 is the problem. A level too large for a block has a coarse one, with two equations for each chunk.
    const auto chunks_of = [](unsigned n) { return static_cast<unsigned>(gpulab::ceil_div(n, warp_slots)); };
    std::vector<Level<T>> levels{{{in.a.data(), in.b.data(), in.c.data(), in.d.data()},
                                  in.n,
                                  in.systems,
                                  chunks_of(in.n),
                                  0,
                                  in.n,
                                  zero_pivot,
                                  try_windows ? solved.data() : nullptr}};
    std::vector<CoarseSystems<T>> coarse; // of level 0, 1, ...
    while (levels.back().n > block_slots) {
        const unsigned n = 2 * levels.back().chunks;
        const CoarseSystems<T>& c = coarse.emplace_back(static_cast<std::size_t>(n) * in.systems);
        levels.push_back({{c.a.data(), nullptr, c.c.data(), c.d.data()},
                          n,
                          in.systems,
                          chunks_of(n),
                          levels.back().level + 1,
                          in.n,
                          zero_pivot,
                          levels.back().solved});
    }
    const auto blocks = [](const Level<T>& l) {
        return gpulab::grid_size(static_cast<std::size_t>(l.chunks) * l.systems, partition_warps);
    };

    const auto coarsest_threads =
        static_cast<unsigned>(gpulab::round_up(gpulab::ceil_div(levels.back().n, run_length), 32));

    watch.tile(run_length, "unknowns");
    watch.tile(warp_slots, "unknowns");
    watch.tile(block_slots, "unknowns");                  // the chunks of one block; larger systems have two levels
    watch.tile(block_slots / 2 * warp_slots, "unknowns"); // still larger ones have three
    watch.tile(partition_warps, "systems");
    const auto launch = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemsetAsync(zero_pivot, 0xFF, result.zero_pivot.bytes(), stream));
        if (try_windows) {
            CUDA_CHECK(cudaMemsetAsync(solved.data(), 0xFF, solved.bytes(), stream)); // not 0 until a window fails
            partition_windows_kernel<T><<<gpulab::grid_size(in.n, window_rows) * in.systems, window_lanes, 0, stream>>>(
                levels[0], result.x.data(), solved.data());
        }
        for (std::size_t k = 0; k + 1 < levels.size(); ++k)
            partition_reduce_kernel<<<blocks(levels[k]), partition_threads, 0, stream>>>(
                levels[k], coarse[k].a.data(), coarse[k].c.data(), coarse[k].d.data());
        partition_coarsest_kernel<<<in.systems, coarsest_threads, 0, stream>>>(
            levels.back(), coarse.empty() ? result.x.data() : coarse.back().x.data());
        for (std::size_t k = levels.size() - 1; k-- > 0;)
            partition_substitute_kernel<<<blocks(levels[k]), partition_threads, 0, stream>>>(
                levels[k], coarse[k].x.data(), k == 0 ? result.x.data() : coarse[k - 1].x.data());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, coarse, solved));
    result.copy_to(out);
}

template <class T> void cuda_partition(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    solve_by_partition(p, out, watch, p.size() >= windows_from);
}

template <class T> void cuda_partition_windows(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    solve_by_partition(p, out, watch, true);
}

INSTANTIATE_RUNG(cuda_partition);
INSTANTIATE_RUNG(cuda_partition_windows);

} // namespace tridiagonal
