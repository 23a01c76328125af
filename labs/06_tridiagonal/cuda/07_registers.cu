// CUDA rung 7: Thomas within a lane, parallel cyclic reduction across lanes, everything in registers (Laszlo, Giles,
// Appleyard, ACM TOMS 42 (4), 2016).
//
// Changed: no equation is kept in shared memory. A lane has eight neighbouring equations in registers. Elimination down
// and up its run, as in Thomas, leaves two interface equations, which hold only the first and the last unknown of the
// run and one unknown of each neighbouring lane (lane.hpp). From them comes one equation per lane. PCR solves these by
// shuffles, in three steps fewer than for all equations, and each lane then finds its other unknowns.
//   - A lane wants eight neighbours, but coalesced loads give it every 32nd number. The warp exchanges them through a
//     small piece of shared memory of its own, with __syncwarp() instead of __syncthreads() (warp_run.cuh).
//   - 32 lanes take 256 unknowns. Systems of at most 128 share a warp: 16 lanes take 128, 8 take 64, ...
//   - A larger system has a block of 2, 3 or 4 warps. Its interface equations go through shared memory.
// An unknown takes one division and eleven multiplications or multiply-adds, where Thomas takes eight operations; the
// work that grows with log2 n is done once for eight unknowns.
// Limit: memory, for many systems: each number is read once and each unknown written once. For few, the chain of
// divisions of a run.
#include <bit>

#include "device_problem.hpp"
#include "gpulab/cuda/timing.hpp"
#include "warp_run.cuh"

namespace tridiagonal {

namespace {
constexpr unsigned registers_threads = 128, registers_warps = registers_threads / 32;
constexpr unsigned registers_most = block_slots; // unknowns of a system
} // namespace

/// Systems of at most 256 unknowns: 32 / lanes of them for each warp.
/// @param lanes of each system: a power of two, lanes * 8 >= n
template <class T>
__global__ void __launch_bounds__(registers_threads)
    registers_kernel(Equations<T> in, T* __restrict__ x, std::int32_t* __restrict__ zero_pivot, unsigned n,
                     unsigned systems, unsigned lanes) {
    __shared__ T exchange[registers_warps][warp_exchange];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const unsigned shift = static_cast<unsigned>(__ffs(static_cast<int>(lanes * run_length))) - 1; // log2
    const Slots slots{(blockIdx.x * registers_warps + warp) * (warp_slots >> shift), 0, shift, n, systems};

    LaneRun<T> run;
    load_runs(in, slots, run, exchange[warp], lane);
    int zero = -1;
    solve_in_warp(run, lane, lanes, zero);
    store_runs(run, slots, x, exchange[warp], lane);

    // The first lane of the system that has found a zero pivot knows its row.
    const unsigned group = lane & ~(lanes - 1); // the system's first lane
    const unsigned of_group = (lanes == 32 ? all_lanes : (1u << lanes) - 1) << group;
    const unsigned found = __ballot_sync(all_lanes, zero >= 0) & of_group;
    const int finder = found == 0 ? 0 : __ffs(static_cast<int>(found)) - 1;
    const int row =
        __shfl_sync(all_lanes, zero, finder) + static_cast<int>((static_cast<unsigned>(finder) - group) * run_length);
    const unsigned system = slots.system_of(lane * run_length);
    if (lane == group && system < systems)
        zero_pivot[system] = found == 0 ? no_zero_pivot : min(row, static_cast<int>(n) - 1);
}

/// A block for each system of 257 to 1024 unknowns, with as many warps as it needs.
template <class T>
__global__ void __launch_bounds__(block_lanes)
    registers_block_kernel(Equations<T> in, T* __restrict__ x, std::int32_t* __restrict__ zero_pivot, unsigned n) {
    __shared__ T exchange[registers_warps][warp_exchange];
    __shared__ NearLanes<T> near;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const Slots slots{blockIdx.x, warp * warp_slots, slots_shift, n, gridDim.x};

    // As an unsigned number, no_zero_pivot is the largest: atomicMin() replaces it by any row.
    unsigned* const first_zero = reinterpret_cast<unsigned*>(zero_pivot) + blockIdx.x;
    if (threadIdx.x == 0) *first_zero = static_cast<unsigned>(no_zero_pivot);
    LaneRun<T> run;
    load_runs(in, slots, run, exchange[warp], lane);
    int zero = -1;
    solve_in_block(run, near, zero); // its barriers order the store above before atomicMin()
    if (zero >= 0) atomicMin(first_zero, min(threadIdx.x * run_length + static_cast<unsigned>(zero), n - 1));
    store_runs(run, slots, x, exchange[warp], lane);
}

template <class T> void cuda_registers(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    if (p.n > registers_most) throw too_many_unknowns(p.n, registers_most);
    const DeviceProblem<T> in(p);
    DeviceOutput<T> result(p);

    const Equations<T> equations{in.a.data(), in.b.data(), in.c.data(), in.d.data()};
    const auto runs = static_cast<unsigned>(gpulab::ceil_div(p.n, run_length));
    const unsigned lanes = std::bit_ceil(runs); // of a system, if 32 are enough
    const unsigned systems_per_block = lanes <= 32 ? registers_threads / lanes : 1;
    watch.tile(run_length, "unknowns");
    watch.tile(warp_slots, "unknowns");
    watch.tile(registers_most, "unknowns");
    watch.tile(systems_per_block, "systems");
    const auto launch = [&](cudaStream_t stream) {
        if (lanes <= 32)
            registers_kernel<<<gpulab::grid_size(p.systems, systems_per_block), registers_threads, 0, stream>>>(
                equations, result.x.data(), result.zero_pivot.data(), in.n, in.systems, lanes);
        else
            registers_block_kernel<<<in.systems, static_cast<unsigned>(gpulab::round_up(runs, 32)), 0, stream>>>(
                equations, result.x.data(), result.zero_pivot.data(), in.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}

INSTANTIATE_RUNG(cuda_registers);

} // namespace tridiagonal
