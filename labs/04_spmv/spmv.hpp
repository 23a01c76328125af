/// @file
/// Lab 04: y = A x with a sparse matrix A, in several formats, on every back end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "gpulab/forward.hpp"
#include "gpulab/sparse/formats.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

/// Lab 04: sparse matrix times vector.
namespace spmv {

using gpulab::Stopwatch;

/// The input of a product. Every variant starts from CSR; one that needs another format converts it, untimed.
template <class T> struct Problem {
    gpulab::Csr<T> matrix;
    std::vector<T> x; ///< matrix.columns elements
};

/// The result: y[i] = sum over j of A[i][j] x[j], matrix.rows elements.
template <class T> using Output = std::vector<T>;

/// A variant: from host data to host data.
template <class T> using Run = void(const Problem<T>& p, Output<T>& y, Stopwatch& watch);

/// Adds a random x in (-1, 1) to the matrix.
/// @throws Error when the matrix is malformed; see gpulab::check_structure()
template <class T> Problem<T> make_problem(gpulab::Csr<T> matrix, std::uint64_t seed);

/// DIA and BCSR multiply their padding, too, and 0 times infinity is NaN: so x must be finite.
/// @param format its name, for the message
/// @throws Unsupported when an element of x is infinite or NaN
template <class T> void check_finite_x(const Problem<T>& p, const char* format);

/// The right answer, summed in a wider type, and the scale on which errors are measured.
template <class T> struct Reference {
    Output<T> y;
    /// For each row (1 + sqrt(length)) * sum |A[i][j] x[j]|: the rounding error of a sum of n terms grows like sqrt(n)
    /// when the signs of the errors are random. At least (1 + length) times the smallest normal number, below which
    /// rounding errors no longer shrink. 0 for an empty row, whose y must be exactly 0.
    std::vector<double> scale;
};
template <class T> Reference<T> make_reference(const Problem<T>& p);

/// Refuses a matrix of finite values whose products can add up to more than T holds: its result would depend on the
/// order of the additions. Refuses a row whose sum is NaN, too: NaN marks what a variant did not write.
/// @param name of the matrix
/// @throws UsageError "NAME: the sum of row ..."
template <class T> void check_range(const Problem<T>& p, const Reference<T>& reference, const std::string& name);

/// Compares with a tolerance of 2 epsilon on the scale of each row.
template <class T> gpulab::Comparison compare(const Reference<T>& reference, const Output<T>& y);

/// A product of a COO matrix with its entries in any order: what the COO rungs do after the conversion. y has a.rows
/// elements.
template <class T>
using RunCoo = void(const gpulab::Coo<T>& a, const std::vector<T>& x, Output<T>& y, Stopwatch& watch);
template <class T>
void cpu_multiply_coo(const gpulab::Coo<T>& a, const std::vector<T>& x, Output<T>& y, Stopwatch& watch);
template <class T>
void cuda_multiply_coo(const gpulab::Coo<T>& a, const std::vector<T>& x, Output<T>& y, Stopwatch& watch);

/// The bytes that must move with CSR, each array once (value, column, row pointer and x in, y out), and the operations.
template <class T> gpulab::Work work(const gpulab::Csr<T>& matrix);

/// The table of variants in reading order, one row per rung.
template <class T> std::span<const gpulab::Variant<Run<T>>> variants();

} // namespace spmv
