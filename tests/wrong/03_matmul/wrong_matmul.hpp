/// @file
/// Matrix products with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>
#include <string_view>

#include "matmul.hpp"

namespace matmul::wrong {

/// A known-wrong variant and what is wrong with it.
struct WrongVariant {
    std::string_view name;
    std::string_view mistake;
    Run<float>* run;
    /// Whether a device may answer right by luck of timing; then only a tool that watches accesses proves the mistake.
    bool race = false;
    /// Not 0: the mistake shows only where a matrix has more elements than this.
    std::size_t right_up_to = 0;
};

std::span<const WrongVariant> cuda_variants();
std::span<const WrongVariant> opencl_variants();

} // namespace matmul::wrong
