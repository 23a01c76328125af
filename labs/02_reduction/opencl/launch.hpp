/// @file
/// What the OpenCL rungs of this lab share: the type a kernel is built for, and how many work-groups it gets.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include "gpulab/math.hpp"
#include "gpulab/opencl/context.hpp"

namespace reduction {

/// Work-items in a group of every kernel here; the halving trees need a power of two.
inline constexpr std::size_t local_size = 256;

/// The build option that names the element type: REAL is float, double or int.
template <class T> std::string real() {
    if constexpr (std::is_same_v<T, double>) return "-DREAL=double -DUSE_DOUBLE";
    else if constexpr (std::is_same_v<T, int>) return "-DREAL=int";
    else return "-DREAL=float";
}

/// A kernel of a program built for T.
/// @throws Unsupported when the device takes no work-groups of 256 for it
template <class T> cl::Kernel kernel_for(const char* source, const char* name) {
    cl::Kernel kernel = gpulab::opencl_kernel(source, name, real<T>());
    if (gpulab::opencl().max_work_group(kernel) < local_size)
        throw gpulab::Unsupported("this device takes no work-groups of 256");
    return kernel;
}

/// Work-groups to start instead of eight per compute unit; 0: those. For tests, which must see many groups' sums joined
/// also on a device with few compute units.
inline std::size_t wished_groups = 0;

/// Work-groups that keep the device busy: eight per compute unit.
inline std::size_t most_groups() {
    return wished_groups > 0 ? wished_groups
                             : 8 * static_cast<std::size_t>(gpulab::opencl().description().compute_units);
}

/// As many, but fewer when there is not an element for each item.
inline std::size_t group_count(std::size_t items) {
    return std::clamp<std::size_t>(gpulab::ceil_div(items, local_size), 1, most_groups());
}

} // namespace reduction
