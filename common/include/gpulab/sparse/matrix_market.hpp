/// @file
/// Matrix Market files (`.mtx`), the exchange format for sparse matrices (Bueno 2013, section 4.1; the format itself:
/// Boisvert, Pozo, Remington, NISTIR 5935, 1996).
///
/// The reader takes `coordinate` and `array` files; `real`, `integer` and `pattern` (every value is 1); `general`,
/// `symmetric`, `hermitian` (the same for real values) and `skew-symmetric`. A symmetric file holds one triangle only,
/// as a rule the lower one, and reading adds the other. Values may be `nan`, `inf` or Fortran's `1D+00`; those of an
/// integer file may be written as `1.0`. Files may be compressed with gzip (`.mtx.gz`), and come through a pipe.
/// Indices in a file count from 1. Comments (%) and blank lines may come anywhere after the banner, and the banner may
/// be in upper or lower case, and have one % only. Entries at the same position are added up. Zeros in an `array` file
/// are not stored; those in a `coordinate` file are, because they were written explicitly. Complex matrices are
/// refused.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gpulab/sparse/formats.hpp"

namespace gpulab {

/// Reads the text of a file in parallel: it is cut into parts at line ends, and each part is parsed by a thread.
/// @param name of the text in error messages, usually the file's name
/// @param parts the number of parts; 0 chooses it from the size of the text and the threads of the CPU
/// @throws Error "NAME:LINE: what is wrong" for anything that is not a well-formed file of the kinds above
template <class T> Coo<T> parse_matrix_market(std::string_view text, const std::string& name, unsigned parts = 0);

/// The size that the header of a text states; all zero when it holds no well-formed header.
MatrixSize announced_size(std::string_view text);

/// The size of the matrix in a file, from its header and its length: never more entries than the text has room for.
/// The text is kept for the next read_matrix_market() of the same path: a pipe can be read only once.
/// @throws UsageError when the file cannot be read, as read_matrix_market() does
MatrixSize matrix_market_size(const std::string& path);

/// Reads a file into CSR with sorted columns.
/// @throws UsageError when the file cannot be read, is neither a regular file nor a pipe (a device may never end), or
///         holds a matrix that does not fit in main memory
/// @throws Error as parse_matrix_market() does, and "NAME: ..." when entries at the same position add up to more than
///         the type can hold
template <class T> Csr<T> read_matrix_market(const std::string& path);

/// Reads a vector: a file with one column, or one row.
/// @param size numbers that there must be; 0: any number of them
/// @throws UsageError or Error as read_matrix_market() does; UsageError for more than one column and row, for a vector
///         that does not fit in main memory and, before anything is allocated, for another size
template <class T> std::vector<T> read_vector(const std::string& path, std::size_t size = 0);

/// A vector, or a dense matrix column after column, as the text of a file: `array real general`. Every value has as
/// many digits as are needed to read the same number back. @pre the number of values is a multiple of `columns`
template <class T> std::string array_text(const std::vector<T>& values, std::size_t columns = 1);

/// A matrix as the text of a file: `coordinate real general`. Every value has as many digits as are needed to read the
/// same number back.
template <class T> std::string to_matrix_market(const Csr<T>& matrix);

/// Writes a file, completely or not at all.
/// @throws UsageError or Error when it cannot be written
template <class T> void write_matrix_market(const std::string& path, const Csr<T>& matrix);

} // namespace gpulab
