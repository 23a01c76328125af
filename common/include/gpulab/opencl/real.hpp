/// @file
/// The number type of OpenCL kernels, which they call REAL.
#pragma once

#include <string>
#include <type_traits>

namespace gpulab {

/// Build options for a kernel that computes in T: float, double or int. For double they also define REAL_IS_DOUBLE,
/// because a kernel must enable double precision.
template <class T> std::string real_option() {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int>);
    if constexpr (std::is_same_v<T, double>) return "-DREAL=double -DREAL_IS_DOUBLE";
    else if constexpr (std::is_same_v<T, int>) return "-DREAL=int";
    else return "-DREAL=float";
}

} // namespace gpulab
