/// @file
/// Sparse matrices on the host in eight formats: CSR, COO, ELL, CSC, DIA, HYB, JDS and BCSR.
///
/// Only the non-zeros are stored, with their positions (lecture "Aula 17": CSR, COO, ELL, CSC; Bueno 2013, sections 1.2
/// and 5, names the others).
/// Row and column indices have 32 bits, so a matrix has fewer than 2^31 rows and columns. Offsets into the arrays of
/// non-zeros have 64 bits on the host, because their number may exceed 2^31. The columns of a row may come in any
/// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace gpulab {

/// The most rows, and the most columns, that a sparse matrix can have.
inline constexpr std::size_t max_sparse_order = std::numeric_limits<std::int32_t>::max();

/// Bytes of one offset into the non-zeros as a device stores it: 4 as long as all offsets fit in 31 bits, else 8.
constexpr std::size_t offset_bytes(std::size_t nonzeros) { return nonzeros <= max_sparse_order ? 4 : 8; }

/// The numbers first, first + 1, ... last - 1, for a loop.
struct IndexRange {
    /// What a range-based for needs.
    struct Iterator {
        std::size_t at;
        std::size_t operator*() const { return at; }
        Iterator& operator++() { return ++at, *this; }
        bool operator!=(const Iterator& other) const { return at != other.at; }
    };
    std::size_t first, last;
    Iterator begin() const { return {first}; }
    Iterator end() const { return {last}; }
};

/// Compressed sparse rows: row i is the entries row_start[i] ... row_start[i+1] - 1 of column and value.
/// row_start is cumulative; it is not a count per row.
template <class T> struct Csr {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<std::int64_t> row_start = {0}; ///< rows + 1 offsets; the first is 0, the last the number of non-zeros
    std::vector<std::int32_t> column;
    std::vector<T> value;

    std::size_t nonzeros() const { return value.size(); }
    /// The entries of row i, as indices of column and value: `for (const std::size_t k : a.row(i))`.
    IndexRange row(std::size_t i) const {
        return {static_cast<std::size_t>(row_start[i]), static_cast<std::size_t>(row_start[i + 1])};
    }
    /// Stored elements of row i.
    std::size_t row_length(std::size_t i) const { return static_cast<std::size_t>(row_start[i + 1] - row_start[i]); }
    /// Bytes of the matrix as a device stores it.
    std::size_t bytes() const { return nonzeros() * (sizeof(T) + 4) + (rows + 1) * offset_bytes(nonzeros()); }
    bool operator==(const Csr&) const = default;
};

/// Coordinates: three arrays; entry k is value[k] at (row[k], column[k]). The entries may come in any order, and
/// entries at the same position add up.
template <class T> struct Coo {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<std::int32_t> row;
    std::vector<std::int32_t> column;
    std::vector<T> value;

    std::size_t nonzeros() const { return value.size(); }
    std::size_t bytes() const { return nonzeros() * (sizeof(T) + 8); }
    bool operator==(const Coo&) const = default;
};

/// ELLPACK: every row padded to the length of the longest. Slot s of row i is stored at s * rows + i (column-major), so
/// that threads of neighbouring rows read neighbouring entries. A slot of padding has column no_column and value 0.
template <class T> struct Ell {
    static constexpr std::int32_t no_column = -1;

    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t width = 0; ///< slots per row: the length of the longest row
    std::vector<std::int32_t> column;
    std::vector<T> value;

    std::size_t bytes() const { return rows * width * (sizeof(T) + 4); }
    bool operator==(const Ell&) const = default;
};

/// Compressed sparse columns: column j is the entries column_start[j] ... column_start[j+1] - 1 of row and value.
template <class T> struct Csc {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<std::int64_t> column_start = {0}; ///< columns + 1 offsets
    std::vector<std::int32_t> row;
    std::vector<T> value;

    std::size_t nonzeros() const { return value.size(); }
    std::size_t bytes() const { return nonzeros() * (sizeof(T) + 4) + (columns + 1) * offset_bytes(nonzeros()); }
    bool operator==(const Csc&) const = default;
};

/// Diagonals: every diagonal that holds an entry is stored in full. The element of diagonal d in row i is
/// value[d * rows + i]; its column is i + offset[d]. Elements without an entry, and those whose column lies outside the
/// matrix, are padding with value 0. No column is stored.
template <class T> struct Dia {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<std::int32_t> offset; ///< of each diagonal: column - row, rising
    std::vector<T> value;             ///< rows elements for each diagonal

    std::size_t bytes() const { return offset.size() * 4 + value.size() * sizeof(T); }
    bool operator==(const Dia&) const = default;
};

/// Hybrid: the first entries of each row in ELL, up to a width that many rows fill; all others in COO, row by row.
template <class T> struct Hyb {
    Ell<T> ell;
    Coo<T> rest;

    std::size_t bytes() const { return ell.bytes() + rest.bytes(); }
    bool operator==(const Hyb&) const = default;
};

/// Jagged diagonals: the rows sorted by falling length, then stored as in ELL, but without padding. Jagged diagonal s
/// holds entry s of each row that is longer than s: that of the r-th longest row is element start[s] + r.
template <class T> struct Jds {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<std::int32_t> row;         ///< row[r] is the r-th longest row; equally long rows keep their order
    std::vector<std::int64_t> start = {0}; ///< one more than the longest row has entries
    std::vector<std::int32_t> column;
    std::vector<T> value;

    std::size_t bytes() const { return row.size() * 4 + start.size() * 8 + value.size() * (sizeof(T) + 4); }
    bool operator==(const Jds&) const = default;
};

/// Blocked CSR: a CSR matrix of dense blocks of 2 x 2 elements. Block k is value[4 k] ... value[4 k + 3], row by row;
/// its upper left element is in column 2 * block_column[k]. Elements without an entry are padding with value 0, and so
/// are those beyond the last row or column.
template <class T> struct Bcsr {
    static constexpr std::size_t side = 2;

    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<std::int64_t> block_start = {0}; ///< one more than there are rows of blocks
    std::vector<std::int32_t> block_column;      ///< rising in each row of blocks
    std::vector<T> value;                        ///< side * side elements for each block

    std::size_t bytes() const { return block_start.size() * 8 + block_column.size() * 4 + value.size() * sizeof(T); }
    bool operator==(const Bcsr&) const = default;
};

/// Bytes of all rows x columns values, zeros included. A double, because the number may exceed 2^64.
template <class T, template <class> class Format> double dense_bytes(const Format<T>& m) {
    return static_cast<double>(m.rows) * static_cast<double>(m.columns) * sizeof(T);
}

/// The size of a matrix that has not been made or read yet.
struct MatrixSize {
    std::size_t rows = 0;
    std::size_t columns = 0;
    double nonzeros = 0; ///< approximate, or an upper bound
};

/// Checks the structure, because kernels rely on it: the lengths of the arrays, offsets that begin with 0, never
/// decrease and end with the number of non-zeros, column indices inside the matrix. Columns need not be sorted.
/// @throws Error that says what is wrong and where
template <class T> void check_structure(const Csr<T>& matrix);

/// The most non-zeros that 32-bit offsets count: 2^31 - 1 minus 1024, because the loop over a row's entries goes up to
/// one step of a block beyond its end.
inline constexpr std::int64_t max_narrow_offset = std::numeric_limits<std::int32_t>::max() - 1024;

/// The offsets of a CSR matrix in 32 bits, for kernels. @throws Unsupported for more than max_narrow_offset non-zeros
template <class T> std::vector<std::int32_t> narrow_offsets(const Csr<T>& matrix);

/// Refuses infinities and NaN, which files may hold, for operations that have no result with them.
/// @param name of the matrix
/// @throws UsageError "NAME: the value in row 2, column 3 is nan: ..."; both count from 1, as in files
template <class T> void check_finite(const Csr<T>& matrix, const std::string& name);

} // namespace gpulab
