/// @file
/// Dense matrices from and to Matrix Market files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpulab/file.hpp"
#include "lu.hpp"

namespace lu {

/// A dense matrix, row by row.
struct Dense {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<double> values;
};

/// Reads a file of any kind that gpulab::read_matrix_market() takes, `array` or `coordinate`.
/// @throws UsageError when the file cannot be read or does not fit main memory as a dense matrix; Error naming file and
///         line when it is malformed, and row and column of a value that is not finite
Dense read_dense(const std::string& path);

/// @throws UsageError when a matrix is not square
void check_square(const std::string& path, std::size_t rows, std::size_t columns);

/// The same for a matrix to factorise.
/// @throws UsageError as well when it is not square, has no rows or more than max_rows, or when the magnitudes in a
///         row add up to more than a double holds
Problem read_problem(const std::string& path);

/// The text of an `array real general` file, column after column, every value with enough digits to read the same
/// number back.
std::string array_text(const Dense& matrix);

} // namespace lu
