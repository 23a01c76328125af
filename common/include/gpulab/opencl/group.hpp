/// @file
/// How many work-items a group has.
#pragma once

#include <cstddef>

namespace gpulab {

/// What group_size() returns, unless it is 0. For graders: a kernel has to ask for the size of its group.
inline std::size_t group_override = 0;

/// @param usual work-items of a group, in each dimension
inline std::size_t group_size(std::size_t usual) { return group_override > 0 ? group_override : usual; }

} // namespace gpulab
