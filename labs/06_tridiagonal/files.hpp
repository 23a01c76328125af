/// @file
/// Tridiagonal systems from Matrix Market files.
#pragma once

#include <string>
#include <vector>

#include "gpulab/file.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal {

/// Reads systems of equal size: a file of four columns, a, b, c and d, one row per equation and one system after the
/// other. Further columns are further right-hand sides: the systems come once for each, those of the first column
/// first. The natural format is `array`; any format that gpulab::read_matrix_market() reads is accepted. All numbers
/// must be finite, except those without a meaning: a of the first and c of the last row of each system.
/// @param systems the number of systems into which the rows are divided, at least 1
/// @throws UsageError when the file cannot be read, has fewer than four columns, its rows cannot be divided into so
/// many
///         systems, or a number is not finite; Error "FILE:LINE: ..." when it is malformed
template <class T> Problem<T> read_problem(const std::string& path, std::size_t systems);

/// What a file announces, for counting memory before it is read.
struct Announced {
    std::size_t rows = 0; ///< 0 when it announces none
    std::size_t right_hand_sides = 1;
};
Announced announced(const std::string& path);

/// Writes the solutions of those systems that have one, when no variant has solved all: a zero pivot in one system is
/// no reason to keep the others back. x of the systems with a zero pivot is NaN.
/// @throws Error that says so; always, because not all systems are solved
template <class T>
[[noreturn]] void write_others(gpulab::OutputFile& file, const Problem<T>& problem, const Reference<T>& reference,
                               std::size_t right_hand_sides);

} // namespace tridiagonal
