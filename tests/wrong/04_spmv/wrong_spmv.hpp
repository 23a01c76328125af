/// @file
/// SpMV kernels with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>
#include <string_view>

#include "spmv.hpp"

namespace spmv::wrong {

/// A known-wrong variant and what is wrong with it.
struct WrongVariant {
    std::string_view name;
    std::string_view mistake;
    Run<float>* run;
    /// The answer may be right all the same on a device that forgives missing barriers: only a tool that watches the
    /// barriers and the accesses (oclgrind, compute-sanitizer) is sure to see the mistake.
    bool needs_tool = false;
};

std::span<const WrongVariant> cuda_variants();
std::span<const WrongVariant> opencl_variants();

} // namespace spmv::wrong
