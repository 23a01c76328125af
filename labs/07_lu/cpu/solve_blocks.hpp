/// @file
/// Substitution in blocks, for cpu_solve_blocked and cpu_solve_refined.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gpulab/parallel.hpp"
#include "solve.hpp"

namespace lu {

inline constexpr std::size_t solve_rows = 64; ///< unknowns of a block

/// X = U^-1 L^-1 X.
///
/// A block is solved with the 64 x 64 numbers of the factors on the diagonal. Then its unknowns are eliminated from all
/// rows that are not solved yet, on all cores.
inline void solve_in_blocks(const Factors& f, Solution& x, std::size_t count) {
    const std::size_t n = f.n;
    const double* const a = f.lu.data();
    // Subtracts the multiple of row j from row i.
    const auto eliminate = [&](std::size_t i, std::size_t j) {
        const double factor = a[i * n + j];
        for (std::size_t c = 0; c < count; ++c) x[i * count + c] -= factor * x[j * count + c];
    };
    for (std::size_t k0 = 0; k0 < n; k0 += solve_rows) {
        const std::size_t k1 = std::min(k0 + solve_rows, n);
        for (std::size_t i = k0; i < k1; ++i)
            for (std::size_t j = k0; j < i; ++j) eliminate(i, j);
        gpulab::for_ranges(n - k1, 1 + 65536 / count, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = k1 + begin; i < k1 + end; ++i)
                for (std::size_t j = k0; j < k1; ++j) eliminate(i, j);
        });
    }
    for (std::size_t k1 = n; k1 > 0;) {
        const std::size_t k0 = (k1 - 1) / solve_rows * solve_rows;
        for (std::size_t i = k1; i-- > k0;) {
            for (std::size_t j = i + 1; j < k1; ++j) eliminate(i, j);
            for (std::size_t c = 0; c < count; ++c) x[i * count + c] /= a[i * n + i];
        }
        gpulab::for_ranges(k0, 1 + 65536 / count, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i)
                for (std::size_t j = k0; j < k1; ++j) eliminate(i, j);
        });
        k1 = k0;
    }
}

} // namespace lu
