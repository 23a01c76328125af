/// @file
/// Generators of sparse matrices.
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

/// The 7-point Laplacian on an nx x ny x nz grid with zero boundary values: 6 on the diagonal, -1 for each neighbour.
/// The diagonal is 6 even where a side is 1: a single plane has boundary values above and below. Grid point (x, y, z)
/// is row (z * ny + y) * nx + x.
template <class T> Csr<T> laplace_3d(std::size_t nx, std::size_t ny, std::size_t nz);

/// The stiffness matrix of a chain of bars of random stiffness, fixed at both ends: tridiagonal. Symmetric positive
/// definite.
template <class T> Csr<T> stiffness(std::size_t rows, std::uint64_t seed);

/// The stiffness matrix of a net of masses on an nx x ny x nz grid. Springs of random strength join each mass to its
/// neighbours along the axes and the diagonals, and a weak spring holds each one in place. A mass has two rows, or
/// three when nz is above 1: one for each direction in which it moves. Symmetric positive definite.
template <class T> Csr<T> springs(std::size_t nx, std::size_t ny, std::size_t nz, std::uint64_t seed);

/// Random values at random columns; row i has length(i) non-zeros. The columns of a row are distinct, sorted and spread
/// evenly: one from each of length(i) equal parts of the row. Values are in (-1, 1), never 0.
/// @param length gives the length of a row, at most `columns`
template <class T>
Csr<T> random_rows(std::size_t rows, std::size_t columns, const std::function<std::size_t(std::size_t)>& length,
                   std::uint64_t seed);

/// Rows whose lengths follow a power law: the share of rows with length l falls as l^-exponent, so that a few rows are
/// thousands of times longer than most. The columns are chosen as in random_rows().
/// @param mean_length the number of non-zeros is rows * mean_length, up to rounding
/// @param exponent above 1; for web graphs between 2 and 3
/// @throws UsageError when the mean cannot be reached to within 1 %
template <class T>
Csr<T> power_law_rows(std::size_t rows, std::size_t columns, double mean_length, double exponent, std::uint64_t seed);

/// A square matrix with random values in the whole band |row - column| <= half_width.
template <class T> Csr<T> banded(std::size_t rows, std::size_t half_width, std::uint64_t seed);

/// The descriptions that generate_matrix() accepts, for --help and messages.
extern const char* const generator_help;

/// The size of the matrix that generate_matrix() would make.
/// @throws UsageError for an invalid description, as generate_matrix() does
MatrixSize generated_size(const std::string& description);

/// A matrix from a description: `lecture`, `laplace2d:N` or `laplace2d:NXxNY`, `laplace3d:N` or `laplace3d:NXxNYxNZ`,
/// `stiffness:N`, `springs:NXxNY` or `springs:NXxNYxNZ`,
/// `random:ROWS[xCOLUMNS]:LENGTH` or `random:ROWS[xCOLUMNS]:LEAST-MOST` (lengths uniform in between),
/// `powerlaw:ROWS[xCOLUMNS]:MEAN[:EXPONENT]` (the default exponent is 2.5), `banded:ROWS:HALFWIDTH`.
/// Numbers are read by parse_size().
/// @throws UsageError that names the description, when it is invalid or the matrix does not fit in main memory
template <class T> Csr<T> generate_matrix(const std::string& description, std::uint64_t seed);

} // namespace gpulab
