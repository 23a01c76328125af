/// @file
/// The one check that right and wrong SAXPY kernels go through.
#pragma once

#include <fmt/format.h>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab_testing/testing.hpp"
#include "saxpy.hpp"

namespace saxpy::testing {

/// Runs a variant at every size on the current device.
/// @return the first fault, with the size it was found at; "" when all answers are right
inline std::string first_fault(Run* run, const std::vector<std::size_t>& sizes) {
    static constexpr float factors[] = {1.6180339f, -1.75f, 0.3f, 0, 1};
    for (const std::size_t n : sizes) {
        Problem p = make_problem(n, gpulab::testing::seed + n);
        p.k = factors[n % std::size(factors)];
        Output reference(n), c(n);
        Stopwatch once;
        cpu_sequential(p, reference, once);
        const std::string fault = gpulab::testing::fault_of(run, p, c, [&] { return compare(p, reference, c); });
        if (!fault.empty()) return fmt::format("n = {}: {}", n, fault);
    }
    return "";
}

} // namespace saxpy::testing
