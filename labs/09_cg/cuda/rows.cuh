/// @file
/// A row times p, for the formats of this lab's CUDA rungs.
#pragma once

#include <cstddef>

namespace cg {

/// CSR: the non-zeros of a row side by side (lab 04).
template <class T> struct CsrRows {
    const int* row_start;
    const int* column;
    const T* value;
    std::size_t rows;

    __device__ T product(std::size_t i, const T* p) const {
        // EXERCISE product
        //| // TODO: the product of row i and p.
        //| (void)i, (void)p;
        //| return 0;
        T sum = 0;
        for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * p[column[k]];
        return sum;
        // END EXERCISE
    }
};

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

} // namespace cg
