// Prefix sums, rung 3: one pass with decoupled look-back. (Merrill & Garland, NVIDIA technical report NVR-2016-002)
//
// Changed: every element is read once and written once. A block takes a tile, adds it up in registers and publishes the
// sum, the tile's aggregate. To learn what comes before its tile, it looks back: from its left neighbour on, it adds
// the aggregates of tiles until it reaches one whose inclusive prefix, the sum of all elements up to its end, is known.
// It then publishes its own inclusive prefix for the tiles after it. A block never waits for a whole level, only until
// the tiles just before its own have published one of the two values:
//
//     tile        0    1    2    3    4    5    6
//     published   P    P    A    A    -    A    A      P: inclusive prefix, A: aggregate, -: nothing yet
//                      <--------------------- tile 6 looks back as far as the nearest P
//                                     |
//                                     +-- and waits for tile 4 alone. Then it adds P1 + A2 + A3 + A4 + A5,
//                                         and publishes that plus A6 as its own P.
//
//   - A block takes its tile by a ticket, in the order in which blocks start. So a block waits only for blocks that
//     have started before it; with tiles numbered by blockIdx that would not be certain.
//   - One warp looks back, 32 tiles at a time.
//   - Status and value of a tile, its tile state, must become visible together. A 64-bit word, written and read as a
//     unit, holds 32 bits of a value and the status. A double takes two such words: when both have the same status, the
//     halves belong together; if not, one of them is on its way. So no fence is needed, and no second read after
//     the first.
// Index: a warp owns 32 x V consecutive 16-byte vectors; in round r lane l loads vector 32 r + l of them, so a
// warp always reads 512 neighbouring bytes:
//
//     round 0     lane 0   lane 1   ...   lane 31
//     round 1     lane 0   lane 1   ...   lane 31      the next 512 bytes
//
// The rounds are scanned one after another by shuffles; no transposition through shared memory is needed.
// The aggregates are added in an order that depends on timing: the last bits of a float may differ from run to run.
// Limit: memory, 8 bytes per float; the chain of look-backs; the registers that hold a tile while its block waits.
#include <cstring>

#include "gpulab/cuda/timing.hpp"
#include "scan.hpp"
#include "scan_tiles.cuh"

namespace reduction {

namespace {

constexpr unsigned threads = 512;
constexpr unsigned warps = threads / 32;
constexpr unsigned resident = 2; // blocks that a multiprocessor should hold: leaves 64 registers per thread
/// 16-byte loads of each thread: as many as fit into the registers. Large tiles mean few look-backs.
constexpr unsigned vectors = 10;

template <class T> constexpr unsigned tile_size = width<T>* vectors* threads; ///< elements

/// The sum of all tiles before `tile`, in all lanes. @pre all 32 lanes of a warp call it
///
/// __any_sync asks whether a condition holds in any lane of the warp. __ballot_sync gives a number whose bit l says
/// whether it holds in lane l. __ffs ("find first set") gives the place of the lowest bit that is 1, counted from 1.
template <class T> __device__ T look_back(const TileStates<T>& states, unsigned tile, unsigned lane) {
    T before = 0;
    for (long long nearest = static_cast<long long>(tile) - 1;; nearest -= 32) { // lane l looks at tile nearest - l
        const long long t = nearest - lane;
        TileState<T> state(inclusive_prefix, 0); // before tile 0 there is nothing to add
        do {
            if (t >= 0) state = states.look(static_cast<unsigned>(t));
        } while (__any_sync(all_lanes, state.status() == nothing));
        const unsigned complete = __ballot_sync(all_lanes, state.status() == inclusive_prefix);
        const unsigned last = complete ? __ffs(static_cast<int>(complete)) - 1u : 31u; // the nearest inclusive prefix
        T part = lane <= last ? state.value() : T{0};
#pragma unroll
        for (unsigned step = 16; step > 0; step /= 2) part += __shfl_xor_sync(all_lanes, part, step);
        before = part + before;
        if (complete) return before;
    }
}

/// The first element of a lane's vector in round r, when the warp's part begins at `begin`.
template <class T> __device__ __forceinline__ std::size_t first_of(std::size_t begin, unsigned r, unsigned lane) {
    return begin + (r * 32 + lane) * width<T>;
}

/// Loads the lane's vectors; 0 beyond the end. @param whole all of the tile lies below n
template <class T>
__device__ __forceinline__ void load(Vector<T> (&v)[vectors], const T* a, std::size_t n, std::size_t begin,
                                     unsigned lane, bool whole) {
    if (whole) {
#pragma unroll
        for (unsigned r = 0; r < vectors; ++r) {
            const uint4 bits = __ldcs(reinterpret_cast<const uint4*>(a + first_of<T>(begin, r, lane)));
            memcpy(&v[r], &bits, 16);
        }
    } else {
#pragma unroll // or v would have to be indexed, and registers cannot be
        for (unsigned r = 0; r < vectors; ++r)
#pragma unroll
            for (unsigned k = 0; k < width<T>; ++k)
                v[r].x[k] = first_of<T>(begin, r, lane) + k < n ? a[first_of<T>(begin, r, lane) + k] : T{0};
    }
}

/// Scans the warp's part: inside the vector, then over the lanes, then over the rounds. Afterwards v[r] holds the sums
/// from the beginning of the part on, before[r] the sum of what comes before v[r].
/// @return the sum of the whole part
template <class T>
__device__ __forceinline__ T scan_part(Vector<T> (&v)[vectors], T (&before)[vectors], unsigned lane) {
    T of_warp = 0;
#pragma unroll
    for (unsigned r = 0; r < vectors; ++r) {
#pragma unroll
        for (unsigned k = 1; k < width<T>; ++k) v[r].x[k] += v[r].x[k - 1];
        const T up_to_me = warp_scan(v[r].x[width<T> - 1], lane);
        T before_me = __shfl_up_sync(all_lanes, up_to_me, 1);
        if (lane == 0) before_me = 0;
        before[r] = of_warp + before_me;
        of_warp += __shfl_sync(all_lanes, up_to_me, 31);
#pragma unroll
        for (unsigned k = 0; k < width<T>; ++k) v[r].x[k] += before[r];
    }
    return of_warp;
}

/// Adds what comes before the warp's part, and stores the elements below n.
template <class T, bool inclusive>
__device__ __forceinline__ void store(const Vector<T> (&v)[vectors], const T (&before)[vectors], T before_warp, T* out,
                                      std::size_t n, std::size_t begin, unsigned lane, bool whole) {
#pragma unroll
    for (unsigned r = 0; r < vectors; ++r) {
        Vector<T> sums;
#pragma unroll
        for (unsigned k = 0; k < width<T>; ++k)
            sums.x[k] = before_warp + (inclusive ? v[r].x[k] : k > 0 ? v[r].x[k - 1] : before[r]);
        if (whole) {
            uint4 bits;
            memcpy(&bits, &sums, 16);
            __stcs(reinterpret_cast<uint4*>(out + first_of<T>(begin, r, lane)), bits);
        } else {
#pragma unroll
            for (unsigned k = 0; k < width<T>; ++k)
                if (first_of<T>(begin, r, lane) + k < n) out[first_of<T>(begin, r, lane) + k] = sums.x[k];
        }
    }
}

} // namespace

/// One tile per block; any n. `a` and `out` start at multiples of 16 bytes. The states are cleared before every launch.
template <class T, bool inclusive>
__global__ void __launch_bounds__(threads, resident)
    look_back_kernel(const T* a, T* out, std::size_t n, TileStates<T> states) {
    constexpr unsigned W = width<T>, V = vectors;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    __shared__ unsigned my_tile;
    if (threadIdx.x == 0) my_tile = states.draw_ticket();
    __syncthreads();
    const unsigned tile = my_tile;
    const std::size_t begin = tile * std::size_t{tile_size<T>} + warp * (32 * V * W);
    const bool whole = (tile + std::size_t{1}) * tile_size<T> <= n;

    Vector<T> v[V];
    T before[V];
    load(v, a, n, begin, lane, whole);
    const T of_warp = scan_part(v, before, lane);

    __shared__ T of_warps[warps];
    if (lane == 0) of_warps[warp] = of_warp;
    __syncthreads();
    if (warp == 0) {
        const T mine = lane < warps ? of_warps[lane] : T{0};
        const T up_to_me = warp_scan(mine, lane);
        const T of_tile = __shfl_sync(all_lanes, up_to_me, warps - 1);
        T before_me = __shfl_up_sync(all_lanes, up_to_me, 1);
        if (lane == 0) before_me = 0;
        T before_tile = 0;
        if (tile > 0) {
            if (lane == 0) states.publish(tile, {aggregate, of_tile});
            before_tile = look_back(states, tile, lane);
        }
        if (lane == 0) states.publish(tile, {inclusive_prefix, before_tile + of_tile});
        if (lane < warps) of_warps[lane] = before_tile + before_me; // now: what comes before each warp's part
    }
    __syncthreads();
    store<T, inclusive>(v, before, of_warps[warp], out, n, begin, lane, whole);
}

template <class T> void cuda_scan_look_back(const ScanProblem<T>& p, Prefixes<T>& out, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<T> result(p.size());
    const unsigned tiles = gpulab::grid_size(p.size(), tile_size<T>);
    gpulab::DeviceBuffer<Word> words(TileStates<T>::size(tiles));
    const TileStates<T> states{words.data()};
    const auto kernel = p.kind == Scan::inclusive ? look_back_kernel<T, true> : look_back_kernel<T, false>;
    const auto launch = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemsetAsync(words.data(), 0, words.bytes(), stream));
        kernel<<<tiles, threads, 0, stream>>>(a.data(), result.data(), p.size(), states);
    };
    watch.tile(32 * std::size_t{tile_size<T>}); // what one warp sees when it looks back
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, words));
    result.copy_to(out);
}

template ScanRun<float> cuda_scan_look_back<float>;
template ScanRun<double> cuda_scan_look_back<double>;
template ScanRun<int> cuda_scan_look_back<int>;

} // namespace reduction
