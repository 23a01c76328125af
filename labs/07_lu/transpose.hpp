/// @file
/// Row by row to column by column and back, for the vendor's library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gpulab/parallel.hpp"

namespace lu {

/// The transpose of a rows x columns matrix: element (i, j) becomes element (j, i). Works in blocks of 32 x 32, so that
/// the cache lines of both matrices stay in the cache.
inline std::vector<double> transposed(const std::vector<double>& matrix, std::size_t rows, std::size_t columns) {
    constexpr std::size_t block = 32;
    std::vector<double> result(matrix.size());
    gpulab::for_ranges(rows, 256, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i0 = begin; i0 < end; i0 += block)
            for (std::size_t j0 = 0; j0 < columns; j0 += block)
                for (std::size_t i = i0; i < std::min(i0 + block, end); ++i)
                    for (std::size_t j = j0; j < std::min(j0 + block, columns); ++j)
                        result[j * rows + i] = matrix[i * columns + j];
    });
    return result;
}

} // namespace lu
