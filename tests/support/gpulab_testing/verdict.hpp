/// @file
/// A comparison that a sentence decides.
#pragma once

#include <string>

#include "gpulab/compare.hpp"

namespace gpulab::testing {

/// A comparison for judges that find faults in their own way. @param fault what is wrong, or ""
inline Comparison verdict(const std::string& fault) {
    Comparison comparison;
    comparison.message = fault;
    comparison.passed = fault.empty();
    return comparison;
}

} // namespace gpulab::testing
