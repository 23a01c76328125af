#include "gpulab/compare.hpp"

#include <cmath>
#include <fmt/format.h>

namespace gpulab {

Comparison make_comparison(bool same_size, std::size_t expected_size, std::size_t actual_size, bool all_within,
                           std::size_t worst, double expected, double actual, double error, double tolerance) {
    Comparison result;
    result.tolerance = tolerance;
    result.worst = worst;
    result.error = error;
    result.passed = same_size && all_within && error <= tolerance && std::isfinite(tolerance);
    if (!same_size) {
        result.error = std::numeric_limits<double>::quiet_NaN();
        result.message = fmt::format("expected {} elements, got {}", expected_size, actual_size);
    } else if (!result.passed) {
        result.message = fmt::format("element {} of {}: expected {:.9g}, got {:.9g} (error {:.3g}, tolerance {:.3g})",
                                     worst, expected_size, expected, actual, error, tolerance);
    }
    return result;
}

} // namespace gpulab
