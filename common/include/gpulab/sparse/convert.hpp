/// @file
/// Conversions between sparse formats.
#pragma once

#include <vector>

#include "gpulab/sparse/formats.hpp"

namespace gpulab {

/// Sorts the entries by row and column. Entries at the same position are added up.
/// @throws Error when an index lies outside the matrix or the three arrays differ in length
template <class T> Csr<T> to_csr(const Coo<T>& matrix);
/// Drops the padding. The slots of a row keep their order.
template <class T> Csr<T> to_csr(const Ell<T>& matrix);
/// The result is sorted by row, and by column within a row.
template <class T> Csr<T> to_csr(const Csc<T>& matrix);

/// The entries come row by row, in the order of the matrix.
template <class T> Coo<T> to_coo(const Csr<T>& matrix);
/// The entries come column by column; within a column in the order of the rows.
template <class T> Csc<T> to_csc(const Csr<T>& matrix);

/// Pads every row to the length of the longest.
/// @throws Unsupported when that would store more than a million slots and more than `most_padding` of them per
///         non-zero, as a few long rows can do, or more bytes than main memory holds
template <class T> Ell<T> to_ell(const Csr<T>& matrix, double most_padding = 10);

/// All rows x columns values, zeros included, row by row. For tests and tiny matrices.
template <class T> std::vector<T> to_dense(const Csr<T>& matrix);

} // namespace gpulab
