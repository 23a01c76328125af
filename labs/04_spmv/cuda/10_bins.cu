// Rung 10: bins of rows, sorted by column: a format of this lab, for random columns.
//
// Changed: the order of the entries. With random columns every entry of a CSR row fetches 32 bytes of x from the L2
// cache and uses one number of them, and that limits all CSR rungs. Here the rows are cut into bins, one for each
// multiprocessor, or more when the sums of a bin would not fit in shared memory. A block keeps the sums of its bin in
// shared memory while it goes through the bin's entries from the lowest column to the highest. Neighbouring lanes then
// read neighbouring elements of x, and a block reads x from front to back once. The rows now come in any order, but
// their sums are in shared memory, where an atomic addition is cheap.
//
//     row 0   a . b . . c   \  bin 0     entries by column   a d b e c     its block reads x in order,
//     row 1   . d . . e .   /            slots               0 1 0 1 0     and adds to sum[0], sum[1], sum[0], ...
//     row 2   f . . . g .   \  bin 1     entries by column   f h g i
//     row 3   . . h . . i   /            slots               0 1 0 1
//
//   - An entry takes as much memory as in CSR: a value, 16 bits for its slot (the place of its sum in the bin) and 16
//     bits for its column, counted from the beginning of its window of 65536 columns. A chunk of 128 entries has one
//     window; the last chunk of a window is filled up with padding.
//   - A row of more than 512 entries gets several slots. So the lanes of a warp do not all wait for the same sum, and
//     bins can share a row of any length.
//   - All bins have about the same number of entries. A bin that would have more rows than slots is cut again.
//
// The device sorts, outside the timing, from the CSR matrix in its memory. What it makes depends on the matrix alone
// and serves every x. Each step is a counting sort: count, add up the counts (an exclusive scan), and put every entry
// at the next free place of its kind.
//   1. Slots: count those of each row, and scan. Cut them into bins of equal work, by bisection as in rung 7.
//   2. Windows: a block counts the entries of its bin in each window and rounds up to whole chunks; after a scan it
//      copies each entry into its window.
//   3. Columns: a block does the same within one window of one bin, by groups of eight columns. Eight neighbours lie in
//      one sector of x, or two of doubles, so their order does not matter.
// Limit: no single one. Reading the matrix, the gather and the atomic additions all take part of the time.
// (Related, with the products written to memory in between: propagation blocking, Beamer et al., IPDPS 2017.)
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "device_memory.hpp"
#include "device_problem.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "streaming.cuh"

namespace spmv {

namespace {

constexpr unsigned bins_threads = 1024;
constexpr int unroll = 2;                 // chunks whose loads a warp has in flight together
constexpr int chunk = 128;                // entries: four for each lane of a warp
constexpr int window_bits = 16;           // an entry has 16 bits for its column
constexpr int window = 1 << window_bits;  // columns
constexpr int most_per_slot = 512;        // entries added up in one slot
constexpr std::size_t least_work = 4096;  // entries and rows of a bin: small matrices have fewer bins
constexpr std::uint32_t no_slot = 0xFFFF; // of the padding at the end of a chunk
constexpr unsigned slot_lanes = 8;        // lanes that count or copy the entries of one slot
constexpr int group_columns = 8;          // whose order does not matter
constexpr int groups = window / group_columns;
constexpr int scan_tile = 4 * bins_threads; // numbers that a block of a scan takes
/// Shared memory of a block for the sums. The rest of the multiprocessor's 256 KiB is its L1 cache, which is needed as
/// well: with 226 KiB of sums a product in double takes 1.3 times as long on an H200.
constexpr std::size_t most_sum_bytes = 131 * 1024;
static_assert(most_sum_bytes / sizeof(float) < no_slot, "16 bits hold a slot");

// ---- Scan ----

/// Adds up one number per thread, for a block of bins_threads threads.
/// @param total becomes the sum of all
/// @return the sum of the numbers of the threads before this one
__device__ int scan_of_block(int number, int& total) {
    __shared__ int warp_total[bins_threads / 32];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = number; // of this lane and those before
    for (unsigned distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(0xFFFFFFFFu, sum, distance);
        if (lane >= distance) sum += other;
    }
    if (lane == 31) warp_total[warp] = sum;
    __syncthreads();
    int before = 0;
    total = 0;
    for (unsigned w = 0; w < bins_threads / 32; ++w) {
        if (w == warp) before = total;
        total += warp_total[w];
    }
    __syncthreads(); // the next call writes warp_total
    return before + sum - number;
}

/// tile_sum[b] becomes the sum of numbers b * scan_tile ... (b + 1) * scan_tile - 1.
__global__ void __launch_bounds__(bins_threads) tile_sums_kernel(const int* number, std::size_t n, int* tile_sum) {
    int sum = 0;
    for (unsigned m = 0; m < 4; ++m) {
        const std::size_t i = blockIdx.x * std::size_t{scan_tile} + m * bins_threads + threadIdx.x;
        if (i < n) sum += number[i];
    }
    int total = 0;
    scan_of_block(sum, total);
    if (threadIdx.x == 0) tile_sum[blockIdx.x] = total;
}

/// Replaces each number by the sum of those before it, in rounds of a block's threads. One block per tile of
/// `per_block` numbers. @param tile_sum what comes before each tile, or null
__global__ void __launch_bounds__(bins_threads)
    scan_kernel(int* number, std::size_t n, std::size_t per_block, const int* tile_sum) {
    const std::size_t begin = blockIdx.x * per_block, end = min(begin + per_block, n);
    int before = tile_sum == nullptr ? 0 : tile_sum[blockIdx.x];
    for (std::size_t round = begin; round < end; round += bins_threads) { // the same rounds for all threads
        const std::size_t i = round + threadIdx.x;
        int total = 0;
        const int sum = scan_of_block(i < end ? number[i] : 0, total);
        if (i < end) number[i] = before + sum;
        before += total;
    }
}

/// Replaces each number by the sum of those before it.
void exclusive_scan(gpulab::DeviceBuffer<int>& number) {
    const unsigned tiles = gpulab::grid_size(number.size(), scan_tile);
    gpulab::DeviceBuffer<int> tile_sum(tiles);
    tile_sums_kernel<<<tiles, bins_threads>>>(number.data(), number.size(), tile_sum.data());
    scan_kernel<<<1, bins_threads>>>(tile_sum.data(), tiles, tiles, nullptr);
    scan_kernel<<<tiles, bins_threads>>>(number.data(), number.size(), scan_tile, tile_sum.data());
    CUDA_CHECK_LAUNCH();
}

// ---- 1. Slots and bins ----

/// The slots of a row, which share its entries in turn: slot q has entries begin + q, begin + q + slots, ...
__device__ __forceinline__ int slots_of(int entries) { return max(1, (entries + most_per_slot - 1) / most_per_slot); }

/// slot_start[i] becomes the number of slots of row i, and 0 for i = rows.
__global__ void count_slots_kernel(const int* __restrict__ row_start, int rows, int* slot_start) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > static_cast<unsigned>(rows)) return;
    slot_start[i] = i == static_cast<unsigned>(rows) ? 0 : slots_of(row_start[i + 1] - row_start[i]);
}

/// The first i of 0 ... n - 1 for which is_reached(i), by bisection; n if there is none.
/// @pre once it is true, it stays true for greater i
template <class IsReached> __device__ __forceinline__ int first_of(int n, const IsReached& is_reached) {
    int low = 0, high = n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (is_reached(middle)) high = middle;
        else low = middle + 1;
    }
    return low;
}

/// row[s] becomes the row of slot s; ~row where the row has several slots.
__global__ void rows_of_slots_kernel(const int* __restrict__ slot_start, int rows, int* row) {
    const unsigned s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= static_cast<unsigned>(slot_start[rows])) return;
    const int i = first_of(rows, [&](int r) { return slot_start[r + 1] > static_cast<int>(s); });
    row[s] = slot_start[i + 1] - slot_start[i] > 1 ? ~i : i;
}

/// The first slot before which at least this much work lies. Each slot and each entry counts as 1.
__device__ int slot_after(long long work, const int* row_start, const int* slot_start, int rows) {
    const auto before = [&](int i) { return static_cast<long long>(row_start[i]) + slot_start[i]; }; // row i
    const int next = first_of(rows, [&](int i) { return before(i) >= work; });
    if (next == 0) return 0;
    const int i = next - 1; // the row begins before; one of its slots, or the next row, does not
    const int entries = row_start[next] - row_start[i], slots = slot_start[next] - slot_start[i];
    return slot_start[i] + first_of(slots, [&](int q) { // the first `entries % slots` slots have an entry more
               return before(i) + static_cast<long long>(q) * (entries / slots + 1) + min(q, entries % slots) >= work;
           });
}

/// Cuts the slots into `ranges` ranges of equal work, and each range into as many bins as its slots need. One block.
/// @param first_slot of each bin; bins + 1 of them. Bins that are not needed come last, and are empty
/// @param most_used zero before; becomes the number of slots of the largest bin
__global__ void __launch_bounds__(bins_threads)
    cut_kernel(const int* __restrict__ row_start, const int* __restrict__ slot_start, int rows, int ranges,
               int most_slots, int* first_slot, int bins, int* most_used) {
    const int slots = slot_start[rows], r = static_cast<int>(threadIdx.x);
    const long long work = static_cast<long long>(row_start[rows]) + slots;
    const auto begin_of = [&](int range) {
        return range >= ranges ? slots : slot_after(work / ranges * range, row_start, slot_start, rows);
    };
    const int begin = begin_of(r), end = begin_of(r + 1);
    const int parts = (end - begin + most_slots - 1) / most_slots;
    int used = 0;
    const int first = scan_of_block(parts, used);
    if (parts > 0) atomicMax(most_used, (end - begin + parts - 1) / parts);
    for (int q = 0; q < parts; ++q)
        first_slot[first + q] = begin + static_cast<int>(static_cast<long long>(end - begin) * q / parts);
    for (int b = used + r; b <= bins; b += bins_threads) first_slot[b] = slots;
}

// ---- 2. Windows ----

/// The CSR matrix with its slots and bins, in device memory.
struct Cut {
    const int *row_start, *column;
    const int *slot_start, *row; ///< of each row its first slot, of each slot its row
    const int* first_slot;       ///< of each bin
    int windows;
};

/// Calls task(k, s) for each entry k of this block's bin, with its slot s in the bin: `slot_lanes` lanes per slot.
template <class Task> __device__ __forceinline__ void for_entries(const Cut& a, const Task& task) {
    const int first = a.first_slot[blockIdx.x], slots = a.first_slot[blockIdx.x + 1] - first;
    const unsigned lane = threadIdx.x % slot_lanes;
    for (int s = static_cast<int>(threadIdx.x / slot_lanes); s < slots;
         s += static_cast<int>(bins_threads / slot_lanes)) {
        const int i = a.row[first + s] < 0 ? ~a.row[first + s] : a.row[first + s];
        const auto begin = static_cast<unsigned>(a.row_start[i] + first + s - a.slot_start[i]);
        const auto end = static_cast<unsigned>(a.row_start[i + 1]);
        const auto step = static_cast<unsigned>(a.slot_start[i + 1] - a.slot_start[i]);
        for (unsigned k = begin + lane * step; k < end; k += slot_lanes * step) task(k, s);
    }
}

/// Counts the entries of a bin in each window, and the chunks that they fill. A block per bin.
__global__ void __launch_bounds__(bins_threads) count_kernel(Cut a, int* entries, int* chunks) {
    extern __shared__ int count[]; // of each window
    for (int w = static_cast<int>(threadIdx.x); w < a.windows; w += bins_threads) count[w] = 0;
    __syncthreads();
    for_entries(a, [&](unsigned k, int) { atomicAdd(&count[a.column[k] >> window_bits], 1); });
    __syncthreads();
    const std::size_t mine = blockIdx.x * static_cast<std::size_t>(a.windows);
    for (int w = static_cast<int>(threadIdx.x); w < a.windows; w += bins_threads) {
        entries[mine + w] = count[w];
        chunks[mine + w] = (count[w] + chunk - 1) / chunk;
    }
}

/// Copies the entries of a bin into their windows, in any order. A block per bin.
template <class T>
__global__ void __launch_bounds__(bins_threads)
    windows_kernel(Cut a, const T* __restrict__ value, const int* __restrict__ first_chunk, std::uint32_t* place,
                   T* value_out) {
    extern __shared__ int count[]; // entries that each window has got so far
    for (int w = static_cast<int>(threadIdx.x); w < a.windows; w += bins_threads) count[w] = 0;
    __syncthreads();
    const int* const first = first_chunk + blockIdx.x * static_cast<std::size_t>(a.windows);
    for_entries(a, [&](unsigned k, int s) {
        const int j = a.column[k], w = j >> window_bits;
        const T v = value[k];
        const std::size_t to = static_cast<std::size_t>(first[w]) * chunk + atomicAdd(&count[w], 1);
        place[to] = static_cast<std::uint32_t>(s) << 16 | static_cast<std::uint32_t>(j & (window - 1));
        value_out[to] = v;
    });
}

// ---- 3. Columns ----

/// Sorts the entries of one window of one bin by groups of columns; a block for each. A lane of the product loads its
/// four entries of a chunk at once, and the lanes of a warp multiply neighbouring entries. So the entries of a chunk,
/// by rising column, are stored in this order:
///
///     lane 0           lane 1                  lane 31
///     0  32  64  96    1  33  65  97    ...    31  63  95  127
template <class T>
__global__ void __launch_bounds__(bins_threads)
    columns_kernel(const int* __restrict__ entries, const int* __restrict__ first_chunk, int windows,
                   const std::uint32_t* __restrict__ place, const T* __restrict__ value, std::uint32_t* place_out,
                   T* value_out, int* first_column) {
    __shared__ int next[groups];                  // the next free place of a group, counted within its warp's groups
    __shared__ int warp_begin[bins_threads / 32]; // the place of a warp's first group
    constexpr int groups_of_warp = groups / static_cast<int>(bins_threads / 32);
    const int n = entries[blockIdx.x];
    if (n == 0) return; // for the whole block
    const int me = static_cast<int>(threadIdx.x), lane = me % 32, warp = me / 32;
    const int chunk_begin = first_chunk[blockIdx.x], chunk_end = first_chunk[blockIdx.x + 1];
    const std::size_t base = static_cast<std::size_t>(chunk_begin) * chunk;
    const auto group_of = [](std::uint32_t p) { return static_cast<int>(p & (window - 1)) / group_columns; };

    for (int g = me; g < groups; g += bins_threads) next[g] = 0;
    __syncthreads();
    for (int k = me; k < n; k += bins_threads) atomicAdd(&next[group_of(place[base + k])], 1);
    __syncthreads(); // all entries are counted

    int sum = 0; // of the warp's groups so far
    for (int g = warp * groups_of_warp + lane; g < (warp + 1) * groups_of_warp; g += 32) {
        const int count = next[g];
        int before = count; // becomes the sum over this lane and those before
        for (int distance = 1; distance < 32; distance *= 2) {
            const int other = __shfl_up_sync(0xFFFFFFFFu, before, distance);
            if (lane >= distance) before += other;
        }
        next[g] = sum + before - count;
        sum += __shfl_sync(0xFFFFFFFFu, before, 31);
    }
    int all = 0;
    const int begin = scan_of_block(lane == 0 ? sum : 0, all); // of lane 0: over the warps before
    if (lane == 0) warp_begin[warp] = begin;
    __syncthreads(); // every group has its first place

    const auto place_of = [](int k) { return k / chunk * chunk + 4 * (k % 32) + k % chunk / 32; };
    for (int k = me; k < n; k += bins_threads) {
        const std::uint32_t p = place[base + k];
        const int g = group_of(p);
        const std::size_t to = base + place_of(warp_begin[g / groups_of_warp] + atomicAdd(&next[g], 1));
        place_out[to] = p;
        value_out[to] = value[base + k];
    }
    for (int k = n + me; k < (chunk_end - chunk_begin) * chunk; k += bins_threads) { // padding
        place_out[base + place_of(k)] = no_slot << 16;
        value_out[base + place_of(k)] = 0;
    }
    const int w = static_cast<int>(blockIdx.x % static_cast<unsigned>(windows));
    for (int c = chunk_begin + me; c < chunk_end; c += bins_threads) first_column[c] = w << window_bits;
}

// ---- The three steps together ----

/// A kernel may have more than 48 KiB of shared memory only when it asks for it.
template <class Kernel> void allow_shared_bytes(Kernel kernel, std::size_t bytes) {
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

/// The number at the end of an array on the device; waits for the kernels before.
int last_of(const gpulab::DeviceBuffer<int>& numbers) {
    int last = 0;
    CUDA_CHECK(cudaMemcpy(&last, numbers.data() + numbers.size() - 1, sizeof(last), cudaMemcpyDeviceToHost));
    return last;
}

/// How many bins and windows a matrix is cut into.
struct Extent {
    int ranges;     ///< of equal work
    int most_slots; ///< of a bin
    int slots;      ///< of all bins, at most
    int bins;       ///< at most: some may be empty
    int windows;
};

/// @pre there are rows and columns
template <class T> Extent extent_of(const gpulab::Csr<T>& a, std::size_t multiprocessors, std::size_t most_slots) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    const std::size_t slots = a.rows + a.nonzeros() / most_per_slot;
    const std::size_t ranges = std::clamp<std::size_t>((a.nonzeros() + a.rows) / least_work, 1,
                                                       std::min<std::size_t>(multiprocessors, bins_threads));
    const std::size_t bins = ranges + slots / most_slots, windows = gpulab::ceil_div(a.columns, std::size_t{window});
    if (slots >= most) throw gpulab::Unsupported("there are more sums than 32-bit offsets can count");
    if (bins * windows * chunk > 2 * a.nonzeros() + (1 << 24))
        throw gpulab::Unsupported("the columns lie too far apart: most places of the chunks would be empty");
    return {static_cast<int>(ranges), static_cast<int>(most_slots), static_cast<int>(slots), static_cast<int>(bins),
            static_cast<int>(windows)};
}

/// The matrix, sorted, in device memory.
template <class T> struct Bins {
    gpulab::DeviceBuffer<int> first_slot;      ///< bins + 1
    gpulab::DeviceBuffer<int> row;             ///< of each slot; ~row where the row has several
    gpulab::DeviceBuffer<int> first_chunk;     ///< bins * windows + 1
    gpulab::DeviceBuffer<int> first_column;    ///< of each chunk
    gpulab::DeviceBuffer<std::uint32_t> place; ///< of each entry: its slot within the bin << 16 | column - first_column
    gpulab::DeviceBuffer<T> value;
    std::size_t most_slots; ///< of a bin
    bool shared_rows;       ///< some row has several slots
};

/// Sorts a matrix that is in device memory, and waits until it is done.
template <class T> Bins<T> sort_into_bins(const DeviceProblem<T>& a, const Extent& extent) {
    const auto [ranges, most_slots, slots, bins, windows] = extent;
    const unsigned blocks = static_cast<unsigned>(bins);

    gpulab::DeviceBuffer<int> slot_start(static_cast<std::size_t>(a.rows) + 1), row(static_cast<std::size_t>(slots)),
        first_slot(blocks + std::size_t{1}), most_used(1);
    count_slots_kernel<<<gpulab::grid_size(slot_start.size(), bins_threads), bins_threads>>>(a.row_start.data(), a.rows,
                                                                                             slot_start.data());
    exclusive_scan(slot_start);
    rows_of_slots_kernel<<<gpulab::grid_size(row.size(), bins_threads), bins_threads>>>(slot_start.data(), a.rows,
                                                                                        row.data());
    CUDA_CHECK(cudaMemset(most_used.data(), 0, most_used.bytes()));
    cut_kernel<<<1, bins_threads>>>(a.row_start.data(), slot_start.data(), a.rows, ranges, most_slots,
                                    first_slot.data(), bins, most_used.data());
    CUDA_CHECK_LAUNCH();

    const Cut cut{a.row_start.data(), a.column.data(), slot_start.data(), row.data(), first_slot.data(), windows};
    const std::size_t window_bytes = static_cast<std::size_t>(windows) * sizeof(int);
    gpulab::DeviceBuffer<int> entries(static_cast<std::size_t>(bins) * static_cast<std::size_t>(windows)),
        first_chunk(entries.size() + 1);
    CUDA_CHECK(cudaMemset(first_chunk.data() + entries.size(), 0, sizeof(int))); // becomes the number of all chunks
    allow_shared_bytes(count_kernel, window_bytes);
    count_kernel<<<blocks, bins_threads, window_bytes>>>(cut, entries.data(), first_chunk.data());
    exclusive_scan(first_chunk);

    const auto chunks = static_cast<std::size_t>(last_of(first_chunk));
    check_device_memory("bins", 2 * chunks * chunk * (sizeof(std::uint32_t) + sizeof(T)));
    gpulab::DeviceBuffer<std::uint32_t> some_place(chunks * chunk), place(chunks * chunk);
    gpulab::DeviceBuffer<T> some_value(chunks * chunk), value(chunks * chunk);
    gpulab::DeviceBuffer<int> first_column(chunks);
    allow_shared_bytes(windows_kernel<T>, window_bytes);
    windows_kernel<T><<<blocks, bins_threads, window_bytes>>>(cut, a.value.data(), first_chunk.data(),
                                                              some_place.data(), some_value.data());
    columns_kernel<T><<<static_cast<unsigned>(entries.size()), bins_threads>>>(
        entries.data(), first_chunk.data(), windows, some_place.data(), some_value.data(), place.data(), value.data(),
        first_column.data());
    CUDA_CHECK_LAUNCH();
    const bool shared_rows = last_of(slot_start) > a.rows;
    return {std::move(first_slot),
            std::move(row),
            std::move(first_chunk),
            std::move(first_column),
            std::move(place),
            std::move(value),
            static_cast<std::size_t>(last_of(most_used)),
            shared_rows};
}

// ---- The product ----

/// The four entries of a lane in one chunk.
template <class T> struct Entries {
    int first_column; ///< of the chunk
    int place[4];     ///< the slot in the upper 16 bits, the column in the lower ones
    T value[4];
};

/// Loads the entries of a lane. @pre chunk c exists
template <class T>
__device__ __forceinline__ void load(Entries<T>& mine, int c, unsigned lane, const int* __restrict__ first_column,
                                     const std::uint32_t* __restrict__ place, const T* __restrict__ value) {
    const std::size_t entry = static_cast<std::size_t>(c) * chunk + 4 * lane;
    mine.first_column = first_column[c];
    const int4 at = load_once4(reinterpret_cast<const int*>(place + entry));
    mine.place[0] = at.x, mine.place[1] = at.y, mine.place[2] = at.z, mine.place[3] = at.w;
    load_once4(value + entry, mine.value);
}

/// As padding: column 0, and no slot.
template <class T> __device__ __forceinline__ void set_empty(Entries<T>& mine) {
    mine.first_column = 0;
    for (int& place : mine.place) place = static_cast<int>(no_slot << 16);
}

/// The elements of x for the four entries.
template <class T>
__device__ __forceinline__ void gather(T (&its_x)[4], const Entries<T>& mine, const T* __restrict__ x) {
#pragma unroll
    for (int m = 0; m < 4; ++m) its_x[m] = x[mine.first_column + (mine.place[m] & 0xFFFF)];
}

/// Adds the four products to the sums of their slots.
template <class T> __device__ __forceinline__ void add_products(T* sum, const Entries<T>& mine, const T (&its_x)[4]) {
#pragma unroll
    for (int m = 0; m < 4; ++m) {
        const unsigned slot = static_cast<unsigned>(mine.place[m]) >> 16;
        if (slot != no_slot) atomicAdd(&sum[slot], mine.value[m] * its_x[m]);
    }
}

} // namespace

/// y = A x, with a block per bin. y must be zero before if some row has several slots.
/// @param first_chunk of each window of each bin
template <class T>
__global__ void __launch_bounds__(bins_threads)
    bins_kernel(const int* __restrict__ first_slot, const int* __restrict__ row, const int* __restrict__ first_chunk,
                int windows, const int* __restrict__ first_column, const std::uint32_t* __restrict__ place,
                const T* __restrict__ value, const T* __restrict__ x, T* __restrict__ y) {
    extern __shared__ __align__(16) unsigned char shared[];
    T* const sum = reinterpret_cast<T*>(shared);
    const int slot_begin = first_slot[blockIdx.x], slots = first_slot[blockIdx.x + 1] - slot_begin;
    for (int s = static_cast<int>(threadIdx.x); s < slots; s += static_cast<int>(blockDim.x)) sum[s] = 0;
    __syncthreads(); // all sums are zero

    const unsigned lane = threadIdx.x % 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    const std::size_t bin = blockIdx.x;
    const int begin = first_chunk[bin * static_cast<std::size_t>(windows)];
    const int end = first_chunk[(bin + 1) * static_cast<std::size_t>(windows)];
    for (int c = begin + static_cast<int>(threadIdx.x / 32); c < end; c += warps * unroll) {
        Entries<T> mine[unroll];
        T its_x[unroll][4];
#pragma unroll
        for (int n = 0; n < unroll; ++n) {
            const int d = c + n * warps;
            if (n == 0 || d < end) load(mine[n], d, lane, first_column, place, value); // the same for all lanes
            else set_empty(mine[n]);
        }
#pragma unroll
        for (int n = 0; n < unroll; ++n) gather(its_x[n], mine[n], x);
#pragma unroll
        for (int n = 0; n < unroll; ++n) add_products(sum, mine[n], its_x[n]);
    }
    __syncthreads(); // all products are added

    for (int s = static_cast<int>(threadIdx.x); s < slots; s += static_cast<int>(blockDim.x)) {
        const int i = row[slot_begin + s];
        if (i >= 0) y[i] = sum[s];
        else atomicAdd(&y[~i], sum[s]);
    }
}

template <class T> void cuda_bins(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    int device = 0, most_shared = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const std::size_t sum_bytes = std::min(static_cast<std::size_t>(most_shared), most_sum_bytes);
    const std::size_t most_slots = sum_bytes / sizeof(T), multiprocessors = gpulab::multiprocessor_count();
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    watch.tile(chunk, "nnz");
    watch.tile(multiprocessors * (bins_threads / 32) * unroll * chunk, "nnz"); // in flight together
    watch.tile(most_per_slot, "row length");
    watch.tile(slot_lanes, "row length");
    watch.tile(window, "columns");
    watch.tile(multiprocessors * most_slots, "sums"); // of one bin per multiprocessor
    watch.tile(least_work, "items");                  // rows and non-zeros together
    watch.tile(scan_tile, "rows");
    if (p.matrix.nonzeros() == 0) { // y is zero; there are no bins, perhaps no columns
        gpulab::watch_stream(
            watch, [&](cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream)); },
            gpulab::poisoning(out));
        out.copy_to(y);
        return;
    }

    const Extent extent = extent_of(p.matrix, multiprocessors, most_slots);
    const DeviceProblem<T> a(p);
    std::optional<Bins<T>> sorted;
    watch.prepare([&] { sorted.emplace(sort_into_bins(a, extent)); });
    const Bins<T>& b = *sorted;
    const auto kernel = bins_kernel<T>;
    const std::size_t shared = b.most_slots * sizeof(T);
    allow_shared_bytes(kernel, shared);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (b.shared_rows) CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream)); // part of the product
            kernel<<<static_cast<unsigned>(extent.bins), bins_threads, shared, stream>>>(
                b.first_slot.data(), b.row.data(), b.first_chunk.data(), extent.windows, b.first_column.data(),
                b.place.data(), b.value.data(), a.x.data(), out.data());
        },
        gpulab::poisoning(out));
    out.copy_to(y);
}

template void cuda_bins(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_bins(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace spmv
