/// @file
/// Vectors as files.
#pragma once

#include <string>
#include <vector>

namespace cg {

/// Reads a vector: a Matrix Market file with one column, or one row.
/// @throws gpulab::UsageError or gpulab::Error as read_matrix_market() does, and for more than one column and row
template <class T> std::vector<T> read_vector(const std::string& path);

/// A vector as the text of a Matrix Market file: `array real general`, every number with as many digits as are needed
/// to read it back.
template <class T> std::string to_matrix_market(const std::vector<T>& x);

} // namespace cg
