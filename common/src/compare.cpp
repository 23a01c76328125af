#include "gpulab/compare.hpp"

#include <cmath>
#include <fmt/format.h>

namespace gpulab::detail {

std::string in_digits(float value) { return fmt::format("{}", value); }
std::string in_digits(double value) { return fmt::format("{}", value); }

std::string failure_message(const Comparison& comparison, std::size_t n, const std::string& expected,
                            const std::string& actual, const Diagnosis& diagnosis, bool integers, bool bytes) {
    if (comparison.wrong == 0 || !std::isfinite(comparison.tolerance))
        return fmt::format("the tolerance {} accepts nothing: it must be finite and not negative",
                           comparison.tolerance);
    std::string error = fmt::format("{:.3g}", comparison.error);
    std::string tolerance = fmt::format("{:.3g}", comparison.tolerance);
    if (error == tolerance) { // three digits do not tell them apart
        error = in_digits(comparison.error);
        tolerance = in_digits(comparison.tolerance);
    }
    const std::string what = diagnosis.what(integers, bytes);
    const bool one = comparison.first == comparison.worst;
    return fmt::format("{} of {} elements wrong: {}{}. {}: element {}, expected {}, got {}{} error {}, tolerance {}.",
                       comparison.wrong, n, diagnosis.where(), what.empty() ? "" : "; looks like: " + what,
                       one ? "First and worst" : "First", comparison.first, expected, actual,
                       one ? "," : fmt::format(". Worst: element {},", comparison.worst), error, tolerance);
}

} // namespace gpulab::detail
