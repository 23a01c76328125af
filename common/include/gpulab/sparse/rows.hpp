/// @file
/// The row lengths of a sparse matrix, which decide which kernel is fast.
#pragma once

#include <cstddef>
#include <vector>

#include "gpulab/sparse/formats.hpp"

namespace gpulab {

/// The distribution of row lengths.
struct RowStatistics {
    std::size_t rows = 0;
    std::size_t empty = 0; ///< rows without a non-zero
    std::size_t shortest = 0;
    std::size_t longest = 0;
    double mean = 0;
    double deviation = 0; ///< standard deviation

    /// histogram[0] counts the empty rows, histogram[k] the rows of 2^(k-1) ... 2^k - 1 non-zeros; without
    /// trailing zeros.
    std::vector<std::size_t> histogram;
};

/// Counts the rows by their length.
/// @param row_start the offsets of a CSR matrix
RowStatistics row_statistics(const std::vector<std::int64_t>& row_start);

} // namespace gpulab
