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
//     bits for its column, counted from the first column of its chunk of 128 entries.
//   - A row of more than 512 entries gets several slots. So the lanes of a warp do not all wait for the same sum, and
//     bins can share a row of any length.
//   - All bins have about the same number of entries. When a bin would have more rows than slots, the shortest of them
//     go to a second bin.
// The sorting is done on the CPU, outside the timing. It depends on the matrix alone and serves every x.
// Limit: no single one. Reading the matrix, the gather and the atomic additions all take part of the time. The
// preparation takes as long as thousands of products.
// (Related, with the products written to memory in between: propagation blocking, Beamer et al., IPDPS 2017.)
#include <algorithm>
#include <atomic>
#include <limits>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/poisoning.hpp"
#include "spmv.hpp"
#include "streaming.cuh"

namespace spmv {

namespace {

constexpr unsigned bins_threads = 1024;
constexpr int unroll = 2;                       // chunks whose loads a warp has in flight together
constexpr std::size_t chunk = 128;              // entries: four for each lane of a warp
constexpr std::int32_t chunk_columns = 0x10000; // columns that the entries of a chunk may span
constexpr std::size_t most_per_slot = 512;      // entries added up in one slot
constexpr std::size_t least_work = 4096;        // entries and slots of a bin, when a multiprocessor has less than one
constexpr std::uint32_t no_slot = 0xFFFF;       // of the padding at the end of a chunk
/// Shared memory of a block for the sums. The rest of the multiprocessor's 256 KiB is its L1 cache, which is needed as
/// well: with 226 KiB of sums a product in double takes 1.3 times as long on an H200.
constexpr std::size_t most_sum_bytes = 131 * 1024;
static_assert(most_sum_bytes / sizeof(float) < no_slot, "16 bits hold a slot");

/// The matrix, sorted. A lane loads its four entries of a chunk at once, and the lanes of a warp multiply neighbouring
/// entries. So the entries of a chunk, by rising column, are stored in this order:
///
///     lane 0           lane 1                  lane 31
///     0  32  64  96    1  33  65  97    ...    31  63  95  127
template <class T> struct Bins {
    std::vector<int> first_slot;      ///< bins + 1
    std::vector<int> row;             ///< of each slot; ~row where the row has several
    std::vector<int> first_chunk;     ///< bins + 1
    std::vector<int> first_column;    ///< of each chunk
    std::vector<std::uint32_t> place; ///< of each entry: its slot within the bin << 16 | column - first_column
    std::vector<T> value;
    std::size_t most_slots = 0; ///< of a bin
    bool shared_rows = false;   ///< some row has several slots
};

/// A sum of a row's entries begin, begin + step, ... below end.
struct Slot {
    int row;
    bool shared; ///< the row has several slots
    std::size_t begin, end, step;
    std::size_t entries() const { return gpulab::ceil_div(end - begin, step); }
};

/// Sorts the entries of some slots by column and appends them to `to` in chunks.
template <class T> void sort_bin(const gpulab::Csr<T>& a, const std::vector<Slot>& slots, Bins<T>& to) {
    struct Entry {
        std::int32_t column;
        std::uint32_t slot;
        T value;
    };
    std::vector<Entry> entries;
    for (std::size_t s = 0; s < slots.size(); ++s)
        for (std::size_t k = slots[s].begin; k < slots[s].end; k += slots[s].step)
            entries.push_back({a.column[k], static_cast<std::uint32_t>(s), a.value[k]});
    std::sort(entries.begin(), entries.end(), [](const Entry& p, const Entry& q) { return p.column < q.column; });

    for (std::size_t k = 0; k < entries.size();) {
        const std::int32_t first = entries[k].column;
        to.first_column.push_back(first);
        to.place.resize(to.place.size() + chunk, no_slot << 16);
        to.value.resize(to.value.size() + chunk);
        for (std::size_t n = 0; n < chunk && k < entries.size() && entries[k].column - first < chunk_columns;
             ++n, ++k) {
            const std::size_t at = to.value.size() - chunk + 4 * (n % 32) + n / 32;
            to.place[at] = entries[k].slot << 16 | static_cast<std::uint32_t>(entries[k].column - first);
            to.value[at] = entries[k].value;
        }
    }
    for (const Slot& slot : slots) to.row.push_back(slot.shared ? ~slot.row : slot.row);
}

/// The slots of all rows, in order.
template <class T> std::vector<Slot> slots_of(const gpulab::Csr<T>& a) {
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < a.rows; ++i) {
        const auto begin = static_cast<std::size_t>(a.row_start[i]), end = static_cast<std::size_t>(a.row_start[i + 1]);
        const std::size_t n = std::max<std::size_t>(gpulab::ceil_div(end - begin, most_per_slot), 1);
        for (std::size_t q = 0; q < n; ++q) slots.push_back({static_cast<int>(i), n > 1, begin + q, end, n});
    }
    if (slots.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw gpulab::Unsupported("there are more sums than 32-bit offsets can count");
    return slots;
}

/// Divides the slots into ranges with equal work, one for each multiprocessor. A range is usually one bin; with too
/// many slots it is several. All first bins come before all second ones:
///
///     range 0     range 1     range 2
///     bin 0       bin 1       bin 2      the longest slots
///     bin 3                   bin 4      the rest
std::vector<std::vector<Slot>> cut_into_bins(const std::vector<Slot>& slots, std::size_t nonzeros,
                                             std::size_t multiprocessors, std::size_t most_slots) {
    const std::size_t work = nonzeros + slots.size();
    const std::size_t ranges = std::clamp<std::size_t>(work / least_work, 1, multiprocessors);
    std::vector<std::vector<std::vector<Slot>>> rounds; // rounds[n][range]: the range's n-th bin
    std::size_t next = 0, done = 0;
    for (std::size_t r = 0; r < ranges; ++r) {
        std::vector<Slot> range;
        for (; next < slots.size() && (r + 1 == ranges || done < work / ranges * (r + 1)); ++next) {
            range.push_back(slots[next]);
            done += slots[next].entries() + 1;
        }
        if (range.size() > most_slots) // the longest first: a bin with more entries makes better use of x
            std::stable_sort(range.begin(), range.end(),
                             [](const Slot& p, const Slot& q) { return p.entries() > q.entries(); });
        for (std::size_t n = 0; n * most_slots < range.size(); ++n) {
            if (n == rounds.size()) rounds.emplace_back(ranges);
            const auto begin = range.begin() + static_cast<std::ptrdiff_t>(n * most_slots);
            const auto end = range.begin() + static_cast<std::ptrdiff_t>(std::min((n + 1) * most_slots, range.size()));
            std::sort(begin, end, [](const Slot& p, const Slot& q) { return p.row < q.row; }); // y in order
            rounds[n][r].assign(begin, end);
        }
    }
    std::vector<std::vector<Slot>> bins;
    for (auto& round : rounds)
        for (auto& bin : round)
            if (!bin.empty()) bins.push_back(std::move(bin));
    return bins;
}

/// Calls task(b) for each bin, on all cores.
template <class Task> void for_bins(std::size_t bins, const Task& task) {
    std::atomic<std::size_t> next = 0;
    gpulab::for_parts(gpulab::parts_for(bins, 1), [&](unsigned) {
        for (std::size_t b = next++; b < bins; b = next++) task(b);
    });
}

/// All bins, one after the other. @param sorted each bin alone; empty afterwards
template <class T> Bins<T> joined(std::vector<Bins<T>>& sorted, std::size_t nonzeros) {
    Bins<T> all;
    all.first_slot = all.first_chunk = {0};
    std::size_t chunks = 0;
    for (const Bins<T>& bin : sorted) {
        chunks += bin.first_column.size();
        all.first_slot.push_back(all.first_slot.back() + static_cast<int>(bin.row.size()));
        all.first_chunk.push_back(static_cast<int>(chunks));
        all.most_slots = std::max(all.most_slots, bin.row.size());
    }
    if (chunks * chunk > 2 * nonzeros + (1 << 20))
        throw gpulab::Unsupported("the columns lie too far apart: most places of the chunks would be empty");
    all.row.resize(static_cast<std::size_t>(all.first_slot.back()));
    all.first_column.resize(chunks);
    all.place.resize(chunks * chunk);
    all.value.resize(chunks * chunk);
    for_bins(sorted.size(), [&](std::size_t b) {
        const auto entry = static_cast<std::ptrdiff_t>(all.first_chunk[b]) * static_cast<std::ptrdiff_t>(chunk);
        std::copy(sorted[b].row.begin(), sorted[b].row.end(), all.row.begin() + all.first_slot[b]);
        std::copy(sorted[b].first_column.begin(), sorted[b].first_column.end(),
                  all.first_column.begin() + all.first_chunk[b]);
        std::copy(sorted[b].place.begin(), sorted[b].place.end(), all.place.begin() + entry);
        std::copy(sorted[b].value.begin(), sorted[b].value.end(), all.value.begin() + entry);
        sorted[b] = {};
    });
    all.shared_rows = std::any_of(all.row.begin(), all.row.end(), [](int row) { return row < 0; });
    return all;
}

/// Cuts the rows into bins and sorts each of them.
/// @param multiprocessors how many bins to make, unless the matrix is very small or has too many rows
/// @param most_slots of a bin
template <class T>
Bins<T> sort_into_bins(const gpulab::Csr<T>& a, std::size_t multiprocessors, std::size_t most_slots) {
    const std::vector<std::vector<Slot>> bins = cut_into_bins(slots_of(a), a.nonzeros(), multiprocessors, most_slots);
    std::vector<Bins<T>> sorted(bins.size());
    for_bins(bins.size(), [&](std::size_t b) { sort_bin(a, bins[b], sorted[b]); });
    return joined(sorted, a.nonzeros());
}

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

/// A block per bin. y must be zero before if a row has several slots.
template <class T>
__global__ void __launch_bounds__(bins_threads)
    bins_kernel(const int* __restrict__ first_slot, const int* __restrict__ row, const int* __restrict__ first_chunk,
                const int* __restrict__ first_column, const std::uint32_t* __restrict__ place,
                const T* __restrict__ value, const T* __restrict__ x, T* __restrict__ y) {
    extern __shared__ __align__(16) unsigned char shared[];
    T* const sum = reinterpret_cast<T*>(shared);
    const int slot_begin = first_slot[blockIdx.x], slots = first_slot[blockIdx.x + 1] - slot_begin;
    for (int s = static_cast<int>(threadIdx.x); s < slots; s += static_cast<int>(blockDim.x)) sum[s] = 0;
    __syncthreads();

    const unsigned lane = threadIdx.x % 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    const int end = first_chunk[blockIdx.x + 1];
    for (int c = first_chunk[blockIdx.x] + static_cast<int>(threadIdx.x / 32); c < end; c += warps * unroll) {
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
    __syncthreads();

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
    const std::size_t most_slots = std::min(static_cast<std::size_t>(most_shared), most_sum_bytes) / sizeof(T);
    const Bins<T> a = sort_into_bins(p.matrix, gpulab::multiprocessor_count(), most_slots);

    const gpulab::DeviceBuffer<int> first_slot(a.first_slot), row(a.row), first_chunk(a.first_chunk),
        first_column(a.first_column);
    const gpulab::DeviceBuffer<std::uint32_t> place(a.place);
    const gpulab::DeviceBuffer<T> value(a.value), x(p.x);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);
    const std::size_t shared = a.most_slots * sizeof(T);
    const auto kernel = bins_kernel<T>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    const auto bins = static_cast<unsigned>(a.first_slot.size() - 1);
    watch.tile(chunk, "nnz");
    watch.tile(gpulab::multiprocessor_count() * (bins_threads / 32) * unroll * chunk, "nnz"); // in flight together
    watch.tile(most_per_slot, "row length");
    watch.tile(chunk_columns, "columns");
    watch.tile(gpulab::multiprocessor_count() * most_slots, "sums"); // of one bin per multiprocessor
    watch.tile(least_work, "items");                                 // rows and non-zeros together
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (bins == 0) return; // no rows: a launch without blocks is an error
            if (a.shared_rows) CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream)); // part of the product
            kernel<<<bins, bins_threads, shared, stream>>>(first_slot.data(), row.data(), first_chunk.data(),
                                                           first_column.data(), place.data(), value.data(), x.data(),
                                                           out.data());
        },
        gpulab::poisoning(out));
    out.copy_to(y);
}

template void cuda_bins(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_bins(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace spmv
