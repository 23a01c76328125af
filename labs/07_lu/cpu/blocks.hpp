/// @file
/// The four parts of a step of blocked elimination. k0 ... k1 - 1 are the columns of the panel.
#pragma once

#include <algorithm>
#include <cstddef>

#include "lu.hpp"
#include "pivoting.hpp"

namespace lu {

inline constexpr std::size_t block_columns = 64; ///< of a panel
inline constexpr std::size_t block_rows = 4;     ///< rows of A22, and of U12, in the innermost loops

/// Eliminates the columns of the panel, from row k0 down to the last. Exchanges rows within the panel only.
inline void factorise_panel(Factors& f, std::size_t k0, std::size_t k1, bool pivoting) {
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    for (std::size_t i = k0; i < k1; ++i) {
        const std::size_t best = pivoting ? pivot_row(f, i) : i;
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

/// U12 = L11^-1 A12, for the columns begin ... end - 1: subtracts from each row in turn multiples of the rows above it.
inline void solve_rows_of_u(Factors& f, std::size_t k0, std::size_t k1, std::size_t begin, std::size_t end) {
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    for (std::size_t i = k0 + 1; i < k1; ++i)
        for (std::size_t k = k0; k < i; ++k) {
            const double factor = a[i * n + k];
            for (std::size_t j = begin; j < end; ++j) a[i * n + j] -= factor * a[k * n + j];
        }
}

/// Subtracts four multiples from each of four rows: c[i][j] -= sum over k of l[i][k] u[k][j]. Rows are n apart.
inline void update_4_by_4(const double* l, const double* u, double* c, std::size_t n, std::size_t columns) {
    const double* __restrict u0 = u;
    const double* __restrict u1 = u0 + n;
    const double* __restrict u2 = u1 + n;
    const double* __restrict u3 = u2 + n;
    for (std::size_t i = 0; i < block_rows; ++i) {
        double* __restrict row = c + i * n;
        const double l0 = l[i * n], l1 = l[i * n + 1], l2 = l[i * n + 2], l3 = l[i * n + 3];
        for (std::size_t j = 0; j < columns; ++j) row[j] -= l0 * u0[j] + l1 * u1[j] + l2 * u2[j] + l3 * u3[j];
    }
}

/// A22 -= L21 U12 for the rows begin ... end - 1 below the panel, all columns right of it. Four rows of U at a time, so
/// that an element of A22 is loaded and stored once for four products; 512 columns of U12 (256 KiB) stay in the
/// second-level cache while all rows use them.
inline void update(Factors& f, std::size_t k0, std::size_t k1, std::size_t begin, std::size_t end) {
    constexpr std::size_t width = 512;
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    for (std::size_t j0 = k1; j0 < n; j0 += width) {
        const std::size_t columns = std::min(width, n - j0);
        for (std::size_t i0 = begin; i0 < end; i0 += block_rows)
            for (std::size_t l0 = k0; l0 < k1; l0 += block_rows) {
                if (i0 + block_rows <= end && l0 + block_rows <= k1) {
                    update_4_by_4(a + i0 * n + l0, a + l0 * n + j0, a + i0 * n + j0, n, columns);
                    continue;
                }
                for (std::size_t i = i0; i < std::min(i0 + block_rows, end); ++i) // fewer than 4 x 4 are left
                    for (std::size_t k = l0; k < std::min(l0 + block_rows, k1); ++k)
                        for (std::size_t j = j0; j < j0 + columns; ++j) a[i * n + j] -= a[i * n + k] * a[k * n + j];
            }
    }
}

} // namespace lu
