// Prefix sums, rung 4: a warp for each duty, and tiles that wait in shared memory.
//
// Changed: in rung 3 a block keeps its tile in registers while it looks back, and its warps do nothing else meanwhile.
// Here one block per multiprocessor stays for the whole launch and holds six tiles in shared memory, each at another
// step. Every warp has a duty (warp specialisation), and hands a tile on by arriving at a barrier:
//
//     a tile's way                                          warps                    barrier
//     it is loaded                                          one that copies          loaded
//     added up                                              eight that work          added
//     its sum is published, for the other blocks            one that publishes       prefixed
//     what comes before each warp's part of it is found     one for the prefixes     prefixed
//     scanned in place                                      eight that work          scanned
//     stored, and another tile is loaded into its place     the one that copies      loaded
//
//     six tiles, at some moment    loading   waits   waits   waits   being scanned   being stored
//
// So loads and stores go on while tiles wait for their prefixes.
//
//   - Tiles go round the blocks: block b has tiles b, b + blocks, b + 2 blocks, ... All blocks run at the same time
//     (a cooperative launch), so they may wait for each other, and no tickets are needed.
//   - There is no chain. A block knows the sum up to the end of its previous tile. It still needs the sums of the tiles
//     in between, one from each other block: one warp reads them all at once.
//   - Sums are published early: the working warps add up tile i before they scan tile i - 3, and the warp that
//     publishes waits only for them. A warp that also finds the prefixes would publish a sum only after the prefix
//     before it has been found: then one slow block delays all.
//   - For one n the order of the additions depends only on the number of blocks: on one device every run gives the same
//     bits.
//   - A bulk copy (compute capability 9.0) is started by one thread and needs no registers.
//   - Whoever arrives at a barrier goes on; only a thread that calls wait() waits. A round ends when all threads and
//     all announced bytes have arrived. Each thread arrives for what it wrote itself.
// Index: a thread has nine neighbouring vectors of 16 bytes. Nine is odd: so the r-th vectors of eight threads, 128
// bytes that are read at the same time, lie in different banks. The bulk copies read and write global memory in order.
// Limit: memory, 8 bytes per float. And 217 KiB of shared memory, which not all devices have.
#include <algorithm>
#include <string>

#include "gpulab/cuda/barrier.cuh"
#include "gpulab/cuda/built_for.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "scan.hpp"
#include "scan_tiles.cuh"

namespace reduction {

namespace {

constexpr unsigned workers = 8; // warps that add and scan
enum Duty : unsigned { copies = workers, publishes, finds_prefixes, warps_with_duties };
constexpr unsigned threads_with_duties = warps_with_duties * 32;
constexpr unsigned stages = 6; // tiles in shared memory
constexpr unsigned thread_vectors = 9;
constexpr unsigned max_blocks = 160;                                        // a warp reads this many sums at once
template <class T> constexpr unsigned part = width<T>* thread_vectors * 32; // elements of a warp
template <class T> constexpr unsigned stage_size = workers* part<T>;        // elements of a tile

/// What a block keeps in shared memory. A stage is the place of one tile. Tile i of the block is in stage i % stages;
/// it is the (i / stages)-th tile there, counted from 0, which is the round of the stage's barriers.
template <class T> struct Stages {
    alignas(128) T tile[stages][stage_size<T>];
    T of_warps[stages][workers]; ///< the sum of each warp's part
    T before[stages][workers];   ///< what comes before it
    gpulab::Barrier loaded[stages], added[stages], prefixed[stages], scanned[stages];
};

/// The tiles of a block.
template <class T> struct BlockTiles {
    std::size_t n;
    unsigned first, blocks;

    __device__ unsigned count() const {
        const auto all = static_cast<unsigned>((n + stage_size<T> - 1) / stage_size<T>);
        return (all + blocks - 1 - first) / blocks;
    }
    __device__ unsigned number(unsigned i) const { return first + i * blocks; }
    __device__ std::size_t begin(unsigned i) const { return number(i) * std::size_t{stage_size<T>}; }
    __device__ unsigned size(unsigned i) const {
        return static_cast<unsigned>(min(std::size_t{stage_size<T>}, n - begin(i)));
    }
};

#if __CUDA_ARCH__ >= 900
constexpr unsigned ahead = 3; // tile i is added up before tile i - ahead is scanned: time to find the prefix
static_assert(ahead < stages);

/// Bulk copies: a unit beside the threads moves the bytes. @pre addresses and bytes are multiples of 16
__device__ inline void load_bulk(void* shared, const void* global, unsigned bytes, gpulab::Barrier& arrived) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     gpulab::shared_address(shared)),
                 "l"(global), "r"(bytes), "r"(gpulab::shared_address(&arrived))
                 : "memory");
}
__device__ inline void store_bulk(void* global, const void* shared, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n"
                 "cp.async.bulk.commit_group;" ::"l"(global),
                 "r"(gpulab::shared_address(shared)), "r"(bytes)
                 : "memory");
}
/// Waits until all stores that this thread started have read shared memory, or have written all.
__device__ inline void wait_until_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ inline void wait_until_stored() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

/// The copying thread. It copies the last elements of the last tile itself where they do not fill a vector. What that
/// tile has beyond n stays as it is: it reaches no prefix below n.
template <class T> __device__ void copy_tiles(Stages<T>& s, BlockTiles<T> tiles, const T* a, T* out) {
    const auto load = [&](unsigned i) {
        const unsigned size = tiles.size(i), in_vectors = size / width<T> * width<T>, bytes = in_vectors * sizeof(T);
        const T* const from = a + tiles.begin(i);
        T* const to = s.tile[i % stages];
        for (unsigned k = in_vectors; k < size; ++k) to[k] = from[k];
        s.loaded[i % stages].arrive_and_expect(bytes);
        if (bytes > 0) load_bulk(to, from, bytes, s.loaded[i % stages]);
    };
    const auto store = [&](unsigned i) {
        const unsigned size = tiles.size(i), in_vectors = size / width<T> * width<T>, bytes = in_vectors * sizeof(T);
        const T* const from = s.tile[i % stages];
        T* const to = out + tiles.begin(i);
        if (bytes > 0) store_bulk(to, from, bytes);
        for (unsigned k = in_vectors; k < size; ++k) to[k] = from[k];
    };
    const unsigned count = tiles.count();
    for (unsigned i = 0; i < min(stages, count); ++i) load(i);
    for (unsigned i = 0; i < count; ++i) {
        s.scanned[i % stages].wait(i / stages);
        store(i);
        wait_until_read();
        if (i + stages < count) load(i + stages);
    }
    wait_until_stored();
}

/// The sum of the tiles begin ... end - 1, in all lanes. Waits until each has been published.
/// @pre end - begin <= max_blocks, and all 32 lanes of a warp call it
template <class T> __device__ T sum_of_tiles(const TileStates<T>& states, unsigned begin, unsigned end, unsigned lane) {
    static_assert(max_blocks % 32 == 0);
    constexpr unsigned tiles_per_lane = max_blocks / 32; // lane l has tiles begin + l, begin + 32 + l, ...
    TileState<T> state[tiles_per_lane];
    bool waiting = true;
    while (waiting) {
#pragma unroll
        for (unsigned k = 0; k < tiles_per_lane;
             ++k) { // no load waits for another: the states are looked at afterwards
            const unsigned tile = begin + 32 * k + lane;
            state[k] = tile < end ? states.look(tile) : TileState<T>(aggregate, 0);
        }
        waiting = false;
#pragma unroll
        for (unsigned k = 0; k < tiles_per_lane; ++k) waiting |= state[k].status() == nothing;
    }
    T sum = 0;
#pragma unroll
    for (unsigned k = 0; k < tiles_per_lane; ++k) sum += state[k].value();
#pragma unroll
    for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(all_lanes, sum, step);
    return sum;
}

/// The sums of the warps' parts of a tile, added up over the lanes: the last worker's lane has the tile's.
template <class T> __device__ T scan_of_warps(const T (&of_warps)[workers], unsigned lane) {
    return warp_scan(lane < workers ? of_warps[lane] : T{0}, lane);
}

/// The warp that publishes.
template <class T>
__device__ void publish_sums(Stages<T>& s, BlockTiles<T> tiles, const TileStates<T>& states, unsigned lane) {
    const unsigned count = tiles.count();
    for (unsigned i = 0; i < count; ++i) {
        s.added[i % stages].wait(i / stages);
        const T up_to_me = scan_of_warps(s.of_warps[i % stages], lane);
        if (lane == workers - 1) states.publish(tiles.number(i), {aggregate, up_to_me}); // all parts: the tile's sum
        s.prefixed[i % stages].arrive();                                                 // of_warps has been read
    }
}

/// The warp for the prefixes.
template <class T>
__device__ void find_prefixes(Stages<T>& s, BlockTiles<T> tiles, const TileStates<T>& states, unsigned lane) {
    T known = 0; // the sum of all elements up to the end of the block's previous tile
    const unsigned count = tiles.count();
    for (unsigned i = 0; i < count; ++i) {
        const unsigned tile = tiles.number(i);
        s.added[i % stages].wait(i / stages);
        const T before_tile = known + sum_of_tiles(states, i == 0 ? 0 : tile - tiles.blocks + 1, tile, lane);
        const T up_to_me = scan_of_warps(s.of_warps[i % stages], lane);
        known = before_tile + __shfl_sync(all_lanes, up_to_me, workers - 1);
        T before_me = __shfl_up_sync(all_lanes, up_to_me, 1);
        if (lane == 0) before_me = 0;
        if (lane < workers) s.before[i % stages][lane] = before_tile + before_me;
        s.prefixed[i % stages].arrive();
    }
}

/// A working warp.
template <class T, bool inclusive>
__device__ void add_and_scan(Stages<T>& s, BlockTiles<T> tiles, unsigned warp, unsigned lane) {
    const auto mine = [&](unsigned i) {
        return reinterpret_cast<Vector<T>*>(s.tile[i % stages]) + (warp * 32 + lane) * thread_vectors;
    };
    const auto add = [&](unsigned i) {
        s.loaded[i % stages].wait(i / stages);
        T sum = 0;
#pragma unroll
        for (unsigned r = 0; r < thread_vectors; ++r) {
            const Vector<T> v = mine(i)[r];
#pragma unroll
            for (unsigned k = 0; k < width<T>; ++k) sum += v.x[k];
        }
#pragma unroll
        for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(all_lanes, sum, step);
        if (lane == 0) {
            s.of_warps[i % stages][warp] = sum;
            s.added[i % stages].arrive();
        }
    };
    const auto scan = [&](unsigned i) {
        Vector<T> v[thread_vectors];
        T sum = 0;
#pragma unroll
        for (unsigned r = 0; r < thread_vectors; ++r) {
            v[r] = mine(i)[r];
#pragma unroll
            for (unsigned k = 0; k < width<T>; ++k) {
                const T before = sum;
                sum += v[r].x[k];
                v[r].x[k] = inclusive ? sum : before;
            }
        }
        T before_me = __shfl_up_sync(all_lanes, warp_scan(sum, lane), 1);
        if (lane == 0) before_me = 0;
        s.prefixed[i % stages].wait(i / stages);
        before_me += s.before[i % stages][warp];
#pragma unroll
        for (unsigned r = 0; r < thread_vectors; ++r) {
#pragma unroll
            for (unsigned k = 0; k < width<T>; ++k) v[r].x[k] += before_me;
            mine(i)[r] = v[r];
        }
        gpulab::publish_to_units(); // the bulk copy sees what the thread wrote
        s.scanned[i % stages].arrive();
    };
    const unsigned count = tiles.count();
    for (unsigned i = 0; i < count + ahead; ++i) {
        if (i < count) add(i);
        if (i >= ahead) scan(i - ahead);
    }
}

#endif

} // namespace

/// A cooperative launch of at most max_blocks blocks, and no more than there are tiles; any n. `a` and `out` start at
/// multiples of 16 bytes. The states are cleared before every launch. Dynamic shared memory: Stages<T>.
template <class T, bool inclusive>
__global__ void __launch_bounds__(threads_with_duties, 1)
    warp_duties_kernel(const T* a, T* out, std::size_t n, TileStates<T> states) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char bytes[];
    Stages<T>& s = *reinterpret_cast<Stages<T>*>(bytes);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const BlockTiles<T> tiles{n, blockIdx.x, gridDim.x};

    if (threadIdx.x == 0) {
        for (unsigned stage = 0; stage < stages; ++stage) {
            s.loaded[stage].init(1);
            s.added[stage].init(workers);
            s.prefixed[stage].init(2 * 32);
            s.scanned[stage].init(workers * 32);
        }
        gpulab::publish_to_units();
    }
    __syncthreads();

    if (warp < workers) add_and_scan<T, inclusive>(s, tiles, warp, lane);
    else if (warp == publishes) publish_sums(s, tiles, states, lane);
    else if (warp == finds_prefixes) find_prefixes(s, tiles, states, lane);
    else if (lane == 0) copy_tiles(s, tiles, a, out);
#endif
}

template <class T> void cuda_scan_warp_duties(const ScanProblem<T>& p, Prefixes<T>& out, Stopwatch& watch) {
    const auto kernel = p.kind == Scan::inclusive ? warp_duties_kernel<T, true> : warp_duties_kernel<T, false>;
    gpulab::require_built_for(kernel, 90);
    constexpr int shared_bytes = sizeof(Stages<T>);
    int available = 0, device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&available, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (available < shared_bytes)
        throw gpulab::Unsupported("needs " + std::to_string(shared_bytes) +
                                  " bytes of shared memory per block, there are " + std::to_string(available));
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));

    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<T> result(p.size());
    const unsigned tiles = gpulab::grid_size(p.size(), stage_size<T>);
    const unsigned most = std::min(max_blocks, gpulab::resident_blocks(kernel, threads_with_duties, shared_bytes));
    const unsigned blocks = std::min(tiles, most);
    gpulab::DeviceBuffer<Word> words(TileStates<T>::size(tiles));
    const TileStates<T> states{words.data()};
    const auto launch = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemsetAsync(words.data(), 0, words.bytes(), stream));
        const T* from = a.data();
        T* to = result.data();
        std::size_t n = p.size();
        TileStates<T> their_states = states;
        void* arguments[] = {&from, &to, &n, &their_states};
        CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(blocks),
                                               dim3(threads_with_duties), arguments, shared_bytes, stream));
    };
    watch.tile(stage_size<T>).tile(std::size_t{most} * stage_size<T>); // then each block has a second one
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, words));
    result.copy_to(out);
}

template ScanRun<float> cuda_scan_warp_duties<float>;
template ScanRun<double> cuda_scan_warp_duties<double>;
template ScanRun<int> cuda_scan_warp_duties<int>;

} // namespace reduction
