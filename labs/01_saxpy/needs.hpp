/// @file
/// What a run of lab 01 must do and hold.
#pragma once

#include <cstddef>

#include "gpulab/report.hpp"

namespace saxpy {

/// What every variant of SAXPY with n elements must do: read a and b, write c, and 2 operations for each element.
gpulab::Work work(std::size_t n);

/// Bytes that a run needs at its peak.
struct MemoryNeed {
    double device = 0, host = 0;
};
/// Of SAXPY: a, b and c, and on the host the reference besides.
MemoryNeed memory_need(std::size_t n);
/// Of the distances, and of any study: the points have 12 bytes, or 16.
MemoryNeed memory_need_of_points(std::size_t n);

} // namespace saxpy
