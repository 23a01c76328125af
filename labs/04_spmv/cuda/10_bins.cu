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
// The device sorts, outside the timing (bins_sort.cuh).
// Limit: no single one. Reading the matrix, the gather and the atomic additions all take part of the time.
// (Related, with the products written to memory in between: propagation blocking, Beamer et al., IPDPS 2017.)
#include <algorithm>
#include <cstdint>
#include <optional>

#include "bins_format.hpp"
#include "bins_sort.cuh"
#include "device_problem.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "streaming.cuh"

namespace spmv {

namespace {

constexpr int unroll = 2; // chunks whose loads a warp has in flight together
/// Shared memory of a block for the sums. The rest of the multiprocessor's 256 KiB is its L1 cache, which is needed as
/// well: with 226 KiB of sums a product in double takes 1.3 times as long on an H200.
constexpr std::size_t max_sum_bytes = 131 * 1024;
static_assert(max_sum_bytes / sizeof(float) < no_slot, "16 bits hold a slot");

/// The four entries of a lane in one chunk.
template <class T> struct Entries {
    int first_column; ///< of the chunk
    int place[4];     ///< the slot in the upper 16 bits, the column in the lower ones
    T value[4];
};

/// Loads the entries of a lane. @pre chunk c exists
template <class T> __device__ __forceinline__ void load(Entries<T>& mine, int c, unsigned lane, const BinsView<T>& a) {
    const std::size_t entry = static_cast<std::size_t>(c) * chunk + 4 * lane;
    mine.first_column = a.first_column[c];
    const int4 at = load_once4(reinterpret_cast<const int*>(a.place + entry));
    mine.place[0] = at.x;
    mine.place[1] = at.y;
    mine.place[2] = at.z;
    mine.place[3] = at.w;
    load_once4(a.value + entry, mine.value);
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
template <class T>
__global__ void __launch_bounds__(bins_threads) bins_kernel(BinsView<T> a, const T* __restrict__ x, T* __restrict__ y) {
    extern __shared__ __align__(16) unsigned char shared[];
    T* const sum = reinterpret_cast<T*>(shared);
    const int slot_begin = a.first_slot[blockIdx.x], slots = a.first_slot[blockIdx.x + 1] - slot_begin;
    for (int s = static_cast<int>(threadIdx.x); s < slots; s += static_cast<int>(blockDim.x)) sum[s] = 0;
    __syncthreads(); // all sums are zero

    const unsigned lane = threadIdx.x % 32;
    const int warps = static_cast<int>(blockDim.x) / 32;
    const std::size_t bin = blockIdx.x;
    const int begin = a.first_chunk[bin * static_cast<std::size_t>(a.windows)];
    const int end = a.first_chunk[(bin + 1) * static_cast<std::size_t>(a.windows)];
    for (int c = begin + static_cast<int>(threadIdx.x / 32); c < end; c += warps * unroll) {
        Entries<T> mine[unroll];
        T its_x[unroll][4];
#pragma unroll
        for (int n = 0; n < unroll; ++n) {
            const int d = c + n * warps;
            if (n == 0 || d < end) load(mine[n], d, lane, a); // the same for all lanes
            else set_empty(mine[n]);
        }
#pragma unroll
        for (int n = 0; n < unroll; ++n) gather(its_x[n], mine[n], x);
#pragma unroll
        for (int n = 0; n < unroll; ++n) add_products(sum, mine[n], its_x[n]);
    }
    __syncthreads(); // all products are added

    for (int s = static_cast<int>(threadIdx.x); s < slots; s += static_cast<int>(blockDim.x)) {
        const int i = a.row[slot_begin + s];
        if (i >= 0) y[i] = sum[s];
        else atomicAdd(&y[~i], sum[s]);
    }
}

template <class T> void cuda_bins(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    int device = 0, max_shared = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&max_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const std::size_t sum_bytes = std::min(static_cast<std::size_t>(max_shared), max_sum_bytes);
    const std::size_t max_slots = sum_bytes / sizeof(T), multiprocessors = gpulab::multiprocessor_count();
    gpulab::DeviceBuffer<T> out(p.matrix.rows);

    watch.tile(chunk, "nnz");
    watch.tile(multiprocessors * (bins_threads / 32) * unroll * chunk, "nnz"); // in flight together
    watch.tile(max_per_slot, "row length");
    watch.tile(slot_lanes, "row length");
    watch.tile(window, "columns");
    watch.tile(multiprocessors * max_slots, "sums"); // of one bin per multiprocessor
    watch.tile(min_work, "items");                   // rows and non-zeros together
    watch.tile(scan_tile, "rows");
    if (p.matrix.nonzeros() == 0) { // y is zero; there are no bins, perhaps no columns
        gpulab::watch_stream(
            watch, [&](cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream)); },
            gpulab::poisoning(out));
        out.copy_to(y);
        return;
    }

    const Extent extent = extent_of(p.matrix, multiprocessors, max_slots);
    const DeviceProblem<T> a(p);
    std::optional<Bins<T>> sorted;
    watch.prepare([&] { sorted.emplace(sort_into_bins(a, extent)); });
    const Bins<T>& b = *sorted;
    const auto kernel = bins_kernel<T>;
    const std::size_t shared = b.max_slots * sizeof(T);
    allow_shared_bytes(kernel, shared);
    const auto launch = [&](cudaStream_t stream) {
        if (b.shared_rows) CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream)); // part of the product
        kernel<<<static_cast<unsigned>(extent.bins), bins_threads, shared, stream>>>(b.view(), a.x.data(), out.data());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_bins);

} // namespace spmv
