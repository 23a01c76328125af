/// @file
/// Partial pivoting, for all CPU rungs: the search of a column for the element of the largest magnitude. A rung then
/// exchanges the row of that element with the row of the diagonal, so that no multiplier is larger than 1.
#pragma once

#include <cmath>
#include <cstddef>

#include "lu.hpp"

namespace lu {

/// The row of the largest magnitude in column i, from row i down; the first if several are equal. NaN is never the
/// largest.
inline std::size_t pivot_row(const Factors& f, std::size_t i) {
    std::size_t best = i;
    double largest = 0;
    for (std::size_t j = i; j < f.n; ++j)
        if (std::abs(f.lu[j * f.n + i]) > largest) {
            best = j;
            largest = std::abs(f.lu[j * f.n + i]);
        }
    return best;
}

} // namespace lu
