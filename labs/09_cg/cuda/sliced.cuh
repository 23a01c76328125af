/// @file
/// A matrix in slices on the device.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/sparse/formats.hpp"

namespace cg {

/// Slices of 32 rows, each padded to its own longest row and stored column by column: the 32 threads of a warp read 32
/// numbers side by side. Padding has column -1.
template <class T> struct SlicedRows {
    const int* slice_start; ///< one offset per slice, and the end
    const int* column;
    const T* value;
    std::size_t rows;

    __device__ T product(std::size_t i, const T* p) const {
        const std::size_t slice = i / 32;
        const int end = slice_start[slice + 1];
        T sum = 0;
#pragma unroll 4
        for (int k = slice_start[slice] + static_cast<int>(i % 32); k < end; k += 32) {
            const int j = __ldcs(&column[k]); // read once: the cache is for p
            const T a = __ldcs(&value[k]);    // before j is known, so that both are under way
            if (j >= 0) sum += a * p[j];
        }
        return sum;
    }
};

/// Slices of 32 rows on the device; see SlicedRows.
template <class T> struct DeviceSliced {
    explicit DeviceSliced(const gpulab::Csr<T>& a) : rows(a.rows) {
        constexpr std::size_t most = std::numeric_limits<int>::max() - 1024; // a loop may count beyond the end
        std::vector<int> starts = {0};
        std::size_t slots = 0;
        for (std::size_t s = 0; s < gpulab::ceil_div(a.rows, 32); ++s) {
            std::size_t width = 0;
            for (std::size_t i = 32 * s; i < std::min(32 * s + 32, a.rows); ++i)
                width = std::max(width, a.row_length(i));
            slots += 32 * width;
            if (slots > most)
                throw gpulab::Unsupported(
                    "padded to slices, the matrix has more non-zeros than 32-bit offsets can count");
            starts.push_back(static_cast<int>(slots));
        }
        std::vector<int> columns(slots, -1);
        std::vector<T> values(slots, T{0});
        for (std::size_t i = 0; i < a.rows; ++i) {
            std::size_t slot = static_cast<std::size_t>(starts[i / 32]) + i % 32;
            for (auto k = static_cast<std::size_t>(a.row_start[i]); k < static_cast<std::size_t>(a.row_start[i + 1]);
                 ++k, slot += 32)
                columns[slot] = a.column[k], values[slot] = a.value[k];
        }
        start = gpulab::DeviceBuffer<int>(starts);
        column = gpulab::DeviceBuffer<int>(columns);
        value = gpulab::DeviceBuffer<T>(values);
    }
    SlicedRows<T> view() const { return {start.data(), column.data(), value.data(), rows}; }

    std::size_t rows;
    gpulab::DeviceBuffer<int> start{0}, column{0};
    gpulab::DeviceBuffer<T> value{0};
};

} // namespace cg
