/// @file
/// SAXPY kernels with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "saxpy.hpp"

namespace saxpy::wrong {

/// A known-wrong variant and what is wrong with it.
struct WrongVariant {
    std::string_view name;
    std::string_view mistake;
    Run* run;
    /// Not 0: the mistake shows only with more elements than this.
    std::size_t right_up_to = 0;
};

/// A right kernel in the same harness: the checks accept it, so they reject the others for their mistakes alone.
Run opencl_right, cuda_right;

std::span<const WrongVariant> cpu_variants();
std::span<const WrongVariant> cuda_variants();
std::span<const WrongVariant> opencl_variants();

} // namespace saxpy::wrong
