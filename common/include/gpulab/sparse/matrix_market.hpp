/// @file
/// Matrix Market files (`.mtx`), the exchange format of sparse matrices (Bueno 2013, section 4.1; the format itself:
/// Boisvert, Pozo, Remington, NISTIR 5935, 1996).
///
/// Read are `coordinate` and `array` files, `real`, `integer` and `pattern` (every value 1), `general`, `symmetric` and
/// `skew-symmetric`. A symmetric file holds the lower triangle only; reading completes the upper one. Indices in a file
/// count from 1. Comments (%) and blank lines may stand anywhere after the banner, and the banner may be written in any
/// case. Entries at the same position are added up. Zeros of an `array` file are not stored; those of a `coordinate`
/// file are, since somebody put them there. Complex matrices are refused.
#pragma once

#include <string>
#include <string_view>

#include "gpulab/sparse/formats.hpp"

namespace gpulab {

/// Reads the text of a file, in parallel: it is cut into parts at line ends, and a thread parses each.
/// @param name what errors call the text; usually the file's name
/// @param parts how many parts; 0: as many as the size is worth and the CPU has threads
/// @throws Error "NAME:LINE: what is wrong" for anything that is not a well-formed file of the kinds above
template <class T> Coo<T> parse_matrix_market(std::string_view text, const std::string& name, unsigned parts = 0);

/// What the header of a file announces.
/// @param beginning of the file's text: the header and any part of the rest
/// @return all zero when there is no well-formed header in it
MatrixSize announced_size(std::string_view beginning);

/// What a file will give, from its header and its length: more entries than it has room for are not believed.
/// @throws UsageError as read_matrix_market() does when the file cannot be read
MatrixSize matrix_market_size(const std::string& path);

/// Reads a file into CSR, columns sorted.
/// @throws UsageError when the file cannot be read or is no regular file (a device may never end), Error as
/// parse_matrix_market(), or when the matrix does not fit
///         main memory
template <class T> Csr<T> read_matrix_market(const std::string& path);

/// A matrix as the text of a file: `coordinate real general`, every value with as many digits as it takes to read the
/// same number back.
template <class T> std::string to_matrix_market(const Csr<T>& matrix);

/// Writes a file; complete, or not at all.
/// @throws UsageError or Error when it cannot be written
template <class T> void write_matrix_market(const std::string& path, const Csr<T>& matrix);

} // namespace gpulab
