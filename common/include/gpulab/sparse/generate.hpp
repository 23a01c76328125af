/// @file
/// Sparse matrices made to order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gpulab/sparse/formats.hpp"

namespace gpulab {

/// The 3 x 4 example of the lecture (Aula 17): row pointers 0 2 4 5, columns 1 2 1 3 0, values 1 2 3 4 5.
template <class T> Csr<T> lecture_example();

/// The 5-point Laplacian on an nx x ny grid with zero boundary values: 4 on the diagonal, -1 for each neighbour.
/// Grid point (x, y) is row y * nx + x. Symmetric positive definite.
template <class T> Csr<T> laplace_2d(std::size_t nx, std::size_t ny);

/// The 7-point Laplacian on an nx x ny x nz grid with zero boundary values: 6 on the diagonal, -1 for each neighbour,
/// also where a side is 1: a single plane has boundary values above and below. Row (z * ny + y) * nx + x.
template <class T> Csr<T> laplace_3d(std::size_t nx, std::size_t ny, std::size_t nz);

/// Random values at random columns, row i having length(i) non-zeros. Columns are distinct, sorted, and spread evenly:
/// one from each of length(i) equal parts of the row. Values are in (-1, 1), never 0.
/// @param length at most `columns` for every row
template <class T>
Csr<T> random_rows(std::size_t rows, std::size_t columns, const std::function<std::size_t(std::size_t)>& length,
                   std::uint64_t seed);

/// Rows whose lengths follow a power law: the share of rows with length l falls as l^-exponent, so that a few rows are
/// thousands of times longer than most. Columns as in random_rows().
/// @param mean_length the number of non-zeros is rows * mean_length, to within a row's rounding
/// @param exponent above 1; web graphs lie between 2 and 3
/// @throws UsageError when the mean cannot be reached to within a hundredth
template <class T>
Csr<T> power_law_rows(std::size_t rows, std::size_t columns, double mean_length, double exponent, std::uint64_t seed);

/// A square matrix with all of a band filled: |row - column| <= half_width. Random values.
template <class T> Csr<T> banded(std::size_t rows, std::size_t half_width, std::uint64_t seed);

/// What generate_matrix() understands, one line each, for --help.
extern const char* const generator_help;

/// The size of the matrix that generate_matrix() would give, without making it.
/// @throws UsageError as generate_matrix() does for a description that makes no sense
MatrixSize generated_size(const std::string& description);

/// A matrix from a description: `lecture`, `laplace2d:N` or `laplace2d:NXxNY`, `laplace3d:N` or `laplace3d:NXxNYxNZ`,
/// `random:ROWS[xCOLUMNS]:LENGTH` or `random:ROWS[xCOLUMNS]:LEAST-MOST` (lengths uniform in between),
/// `powerlaw:ROWS[xCOLUMNS]:MEAN[:EXPONENT]` (exponent 2.5 when left out), `banded:ROWS:HALFWIDTH`.
/// Numbers as parse_size() reads them.
/// @throws UsageError naming the description when it makes no sense or the matrix does not fit main memory
template <class T> Csr<T> generate_matrix(const std::string& description, std::uint64_t seed);

} // namespace gpulab
