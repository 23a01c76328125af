/// @file
/// Conversions between sparse formats.
#pragma once

#include <vector>

#include "gpulab/sparse/formats.hpp"

namespace gpulab {

/// Sorts the entries by row and column. Entries at the same position are added up.
/// @throws Error when an index lies outside the matrix or the three arrays differ in length
template <class T> Csr<T> to_csr(const Coo<T>& matrix);

/// The entries come row by row, in the order of the matrix.
template <class T> Coo<T> to_coo(const Csr<T>& matrix);
/// The entries come column by column; within a column in the order of the rows.
template <class T> Csc<T> to_csc(const Csr<T>& matrix);

/// Pads every row to the length of the longest.
/// @throws Unsupported when that would store more than a million slots and more than `max_padding` of them per
///         non-zero, as a few long rows can do, or more bytes than main memory holds
template <class T> Ell<T> to_ell(const Csr<T>& matrix, double max_padding = 10);

/// Stores each diagonal that has an entry in full. Entries at the same position are added up.
/// @throws Unsupported as to_ell() does: every entry may lie on a diagonal of its own
template <class T> Dia<T> to_dia(const Csr<T>& matrix, double max_padding = 10);

/// Splits each row at the width that at least a third of the rows fill. So there are at most three slots of ELL per
/// non-zero. (Bell and Garland, SC 2009, found ELL about three times as fast per element as COO.)
/// @throws Unsupported when it would store more bytes than main memory holds
template <class T> Hyb<T> to_hyb(const Csr<T>& matrix);

/// Sorts the rows by falling length.
template <class T> Jds<T> to_jds(const Csr<T>& matrix);

/// Stores each block of 2 x 2 elements that has an entry in full. Entries at the same position are added up.
/// @throws Unsupported when it would store more bytes than main memory holds
template <class T> Bcsr<T> to_bcsr(const Csr<T>& matrix);

/// Bytes of the matrix in DIA, without the conversion. A double, because they may be very many.
template <class T> double dia_bytes(const Csr<T>& matrix);

/// Bytes of the matrix in HYB, without the conversion.
template <class T> double hyb_bytes(const Csr<T>& matrix);

/// Bytes of the matrix in BCSR, without the conversion.
template <class T> double bcsr_bytes(const Csr<T>& matrix);

/// All rows x columns values, zeros included, row by row. For tests and tiny matrices.
template <class T> std::vector<T> to_dense(const Csr<T>& matrix);

} // namespace gpulab
