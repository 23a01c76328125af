/// @file
/// The four parts of a step of blocked elimination. k0 ... k1 - 1 are the columns of the panel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "lu.hpp"

namespace lu {

inline constexpr std::size_t block_columns = 64; ///< of a panel
inline constexpr std::size_t block_rows = 4;     ///< rows of the submatrix that share a number of U

/// Eliminates the columns of the panel, from row k0 down to the last. Exchanges rows within the panel only.
inline void factorise_panel(Factors& f, std::size_t k0, std::size_t k1, bool pivoting) {
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    for (std::size_t i = k0; i < k1; ++i) {
        std::size_t best = i;
        if (pivoting)
            for (std::size_t j = i + 1; j < n; ++j)
                if (std::abs(a[j * n + i]) > std::abs(a[best * n + i]) || a[best * n + i] != a[best * n + i]) best = j;
        f.pivots[i] = static_cast<std::int32_t>(best);
        if (best != i) std::swap_ranges(a + i * n + k0, a + i * n + k1, a + best * n + k0);
        for (std::size_t j = i + 1; j < n; ++j) {
            const double factor = a[j * n + i] /= a[i * n + i];
            for (std::size_t k = i + 1; k < k1; ++k) a[j * n + k] -= factor * a[i * n + k];
        }
    }
}

/// Applies the exchanges of the panel to the columns begin ... end - 1.
inline void exchange_rows(Factors& f, std::size_t k0, std::size_t k1, std::size_t begin, std::size_t end) {
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    for (std::size_t k = k0; k < k1; ++k)
        if (const auto p = static_cast<std::size_t>(f.pivots[k]); p != k)
            std::swap_ranges(a + k * n + begin, a + k * n + end, a + p * n + begin);
}

/// U12 = L11^-1 A12, for the columns begin ... end - 1: row after row, each less its multiples of those above.
inline void solve_rows_of_u(Factors& f, std::size_t k0, std::size_t k1, std::size_t begin, std::size_t end) {
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    for (std::size_t i = k0 + 1; i < k1; ++i)
        for (std::size_t k = k0; k < i; ++k) {
            const double factor = a[i * n + k];
            for (std::size_t j = begin; j < end; ++j) a[i * n + j] -= factor * a[k * n + j];
        }
}

/// A22 -= L21 U12 for the rows begin ... end - 1 below the panel, all columns right of it. Four rows at a time share
/// each number of U; 512 columns of U12 (256 KiB) stay in the second-level cache while all rows pass.
inline void update(Factors& f, std::size_t k0, std::size_t k1, std::size_t begin, std::size_t end) {
    constexpr std::size_t width = 512;
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    for (std::size_t j0 = k1; j0 < n; j0 += width) {
        const std::size_t columns = std::min(width, n - j0);
        std::size_t i = begin;
        for (; i + block_rows <= end; i += block_rows) {
            double* __restrict c0 = a + i * n + j0;
            double* __restrict c1 = c0 + n;
            double* __restrict c2 = c1 + n;
            double* __restrict c3 = c2 + n;
            for (std::size_t k = k0; k < k1; ++k) {
                const double* __restrict u = a + k * n + j0;
                const double l0 = a[i * n + k], l1 = a[(i + 1) * n + k], l2 = a[(i + 2) * n + k],
                             l3 = a[(i + 3) * n + k];
                for (std::size_t j = 0; j < columns; ++j) {
                    c0[j] -= l0 * u[j];
                    c1[j] -= l1 * u[j];
                    c2[j] -= l2 * u[j];
                    c3[j] -= l3 * u[j];
                }
            }
        }
        for (; i < end; ++i) // up to three rows are left over
            for (std::size_t k = k0; k < k1; ++k)
                for (std::size_t j = j0; j < j0 + columns; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
}

} // namespace lu
