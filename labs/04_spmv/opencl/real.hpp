/// @file
/// The number type of this lab's kernels, which they call REAL.
#pragma once

#include <string>
#include <type_traits>

namespace spmv {

/// Build options for a kernel in float or double.
template <class T> std::string real_option() {
    return std::is_same_v<T, double> ? "-DREAL=double -DREAL_IS_DOUBLE" : "-DREAL=float";
}

} // namespace spmv
