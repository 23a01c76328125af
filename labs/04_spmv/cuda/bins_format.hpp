/// @file
/// The format of cuda_bins: an entry is a value and a place, and 128 entries make a chunk.
///
///     place    [ slot in the bin: 16 bits ] [ column - first column of the chunk: 16 bits ]
///     bin      [ chunks of window 0 ] [ chunks of window 1 ] ...       a window: 65536 columns
///     chunk    the entries by rising column, as the lanes of a warp load them, four each:
///
///              lane 0           lane 1                  lane 31
///              0  32  64  96    1  33  65  97    ...    31  63  95  127
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpulab/cuda/buffer.hpp"

namespace spmv {

inline constexpr unsigned bins_threads = 1024;
inline constexpr int chunk = 128;                // entries: four for each lane of a warp
inline constexpr int window_bits = 16;           // an entry has 16 bits for its column
inline constexpr int window = 1 << window_bits;  // columns
inline constexpr int max_per_slot = 512;         // entries added up in one slot
inline constexpr std::uint32_t no_slot = 0xFFFF; // of the padding at the end of a chunk

/// The sorted matrix, as a kernel gets it.
template <class T> struct BinsView {
    const int* first_slot;  ///< of each bin, and of one behind the last
    const int* row;         ///< of each slot; ~row where the row has several
    const int* first_chunk; ///< of each window of each bin, and of one behind the last
    int windows;
    const int* first_column;    ///< of each chunk
    const std::uint32_t* place; ///< of each entry: its slot within the bin << 16 | column - first_column
    const T* value;
};

/// The arrays in device memory.
template <class T> struct Bins {
    gpulab::DeviceBuffer<int> first_slot, row, first_chunk, first_column;
    gpulab::DeviceBuffer<std::uint32_t> place;
    gpulab::DeviceBuffer<T> value;
    int windows;
    std::size_t max_slots; ///< of a bin
    bool shared_rows;      ///< some row has several slots

    BinsView<T> view() const {
        return {first_slot.data(),   row.data(),   first_chunk.data(), windows,
                first_column.data(), place.data(), value.data()};
    }
};

} // namespace spmv
