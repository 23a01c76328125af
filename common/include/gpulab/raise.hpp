/// @file
/// The largest of some numbers, when NaN must not get lost.
#pragma once

#include <cmath>

namespace gpulab {

/// Raises `largest` to a larger value, or to NaN. Once it is NaN, it stays. std::max() can lose a NaN: max(1.0, NaN)
/// is 1.
template <class T> void raise(T& largest, T value) {
    if (!(value <= largest) && !std::isnan(largest)) largest = value;
}

} // namespace gpulab
