/// @file
/// The product of cpu_blocked for a band of rows, for the later rungs.
#pragma once

#include <algorithm>
#include <cstddef>

#include "matmul.hpp"

namespace matmul {

inline constexpr std::size_t block_depth = 64;  ///< rows of B in a block
inline constexpr std::size_t block_width = 512; ///< columns of B in a block
inline constexpr std::size_t block_rows = 4;    ///< rows of C that share a number of B

/// Names the sizes at which multiply_rows() cuts a product.
inline void name_blocks(Stopwatch& watch) { watch.tile(block_rows, "m").tile(block_depth, "k").tile(block_width, "n"); }

/// Rows begin ... end - 1 of C.
///
/// A block of B, 64 rows of 512 columns (128 KiB of float), stays in the second-level cache while all rows of the band
/// pass over it, four at a time: a number of B, once loaded, serves four sums.
template <class T> void multiply_rows(const Problem<T>& p, Output<T>& c, std::size_t begin, std::size_t end) {
    constexpr std::size_t depth = block_depth, width = block_width, rows = block_rows;
    std::fill(c.begin() + static_cast<std::ptrdiff_t>(begin * p.n), c.begin() + static_cast<std::ptrdiff_t>(end * p.n),
              T{0});
    for (std::size_t j0 = 0; j0 < p.n; j0 += width) {
        const std::size_t columns = std::min(width, p.n - j0);
        for (std::size_t l0 = 0; l0 < p.k; l0 += depth) {
            const std::size_t l1 = std::min(l0 + depth, p.k);
            std::size_t i = begin;
            for (; i + rows <= end; i += rows) {
                T* __restrict c0 = c.data() + i * p.n + j0;
                T* __restrict c1 = c0 + p.n;
                T* __restrict c2 = c1 + p.n;
                T* __restrict c3 = c2 + p.n;
                const T* const a = p.a.data() + i * p.k;
                for (std::size_t l = l0; l < l1; ++l) {
                    const T* __restrict b = p.b.data() + l * p.n + j0;
                    const T a0 = a[l], a1 = a[p.k + l], a2 = a[2 * p.k + l], a3 = a[3 * p.k + l];
                    for (std::size_t j = 0; j < columns; ++j) {
                        c0[j] += a0 * b[j];
                        c1[j] += a1 * b[j];
                        c2[j] += a2 * b[j];
                        c3[j] += a3 * b[j];
                    }
                }
            }
            for (; i < end; ++i) // up to three rows are left over
                for (std::size_t l = l0; l < l1; ++l)
                    for (std::size_t j = j0; j < j0 + columns; ++j)
                        c[i * p.n + j] += p.a[i * p.k + l] * p.b[l * p.n + j];
        }
    }
}

} // namespace matmul
