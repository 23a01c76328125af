/// @file
/// The three steps of cuda_bins together: from the CSR matrix in device memory to bins. What it makes depends on the
/// matrix alone and serves every x. Each step is a counting sort: count, add up the counts (an exclusive scan), and put
/// every entry at the next free place of its kind.
///
///     CSR --(1) bins_slots.cuh--> bins of rows --(2) bins_windows.cuh--> windows --(3) bins_columns.cuh--> sorted
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "bins_columns.cuh"
#include "bins_format.hpp"
#include "bins_scan.cuh"
#include "bins_slots.cuh"
#include "bins_windows.cuh"
#include "device_memory.hpp"
#include "device_problem.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"

namespace spmv {

inline constexpr std::size_t min_work = 4096; // entries and rows of a bin: small matrices have fewer bins

/// A kernel may have more than 48 KiB of shared memory only when it asks for it.
template <class Kernel> void allow_shared_bytes(Kernel kernel, std::size_t bytes) {
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

/// The number at the end of an array on the device; waits for the kernels before.
inline int last_of(const gpulab::DeviceBuffer<int>& numbers) {
    int last = 0;
    CUDA_CHECK(cudaMemcpy(&last, numbers.data() + numbers.size() - 1, sizeof(last), cudaMemcpyDeviceToHost));
    return last;
}

/// How many bins and windows a matrix is cut into.
struct Extent {
    int ranges;    ///< of equal work
    int max_slots; ///< of a bin
    int slots;     ///< of all bins, at most
    int bins;      ///< at most: some may be empty
    int windows;
};

/// @pre there are rows and columns
template <class T> Extent extent_of(const gpulab::Csr<T>& a, std::size_t multiprocessors, std::size_t max_slots) {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
    const std::size_t slots = a.rows + a.nonzeros() / max_per_slot;
    const std::size_t ranges = std::clamp<std::size_t>((a.nonzeros() + a.rows) / min_work, 1,
                                                       std::min<std::size_t>(multiprocessors, bins_threads));
    const std::size_t bins = ranges + slots / max_slots, windows = gpulab::ceil_div(a.columns, std::size_t{window});
    if (slots >= most) throw gpulab::Unsupported("there are more sums than 32-bit offsets can count");
    if (bins * windows * chunk > 2 * a.nonzeros() + (1 << 24))
        throw gpulab::Unsupported("the columns lie too far apart: most places of the chunks would be empty");
    return {static_cast<int>(ranges), static_cast<int>(max_slots), static_cast<int>(slots), static_cast<int>(bins),
            static_cast<int>(windows)};
}

/// Sorts a matrix that is in device memory, and waits until it is done.
template <class T> Bins<T> sort_into_bins(const DeviceProblem<T>& a, const Extent& extent) {
    const auto [ranges, max_slots, slots, bins, windows] = extent;
    const unsigned blocks = static_cast<unsigned>(bins);

    gpulab::DeviceBuffer<int> slot_start(static_cast<std::size_t>(a.rows) + 1), row(static_cast<std::size_t>(slots)),
        first_slot(blocks + std::size_t{1}), max_used(1);
    count_slots_kernel<<<gpulab::grid_size(slot_start.size(), bins_threads), bins_threads>>>(a.row_start.data(), a.rows,
                                                                                             slot_start.data());
    exclusive_scan(slot_start);
    rows_of_slots_kernel<<<gpulab::grid_size(row.size(), bins_threads), bins_threads>>>(slot_start.data(), a.rows,
                                                                                        row.data());
    CUDA_CHECK(cudaMemset(max_used.data(), 0, max_used.bytes()));
    cut_kernel<<<1, bins_threads>>>(a.row_start.data(), slot_start.data(), a.rows, ranges, max_slots, first_slot.data(),
                                    bins, max_used.data());
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
            windows,
            static_cast<std::size_t>(last_of(max_used)),
            shared_rows};
}

} // namespace spmv
