#include "gpulab/compare.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace gpulab::detail {

void join(Comparison& result, const Comparison& part) {
    const bool fails_first = part.wrong > 0 && result.wrong == 0;
    if (!fails_first && result.wrong > 0 && part.wrong == 0) return; // a failure outranks any error within tolerance
    const bool larger = std::isnan(part.error) ? !std::isnan(result.error) : part.error > result.error;
    const bool same = part.error == result.error || (std::isnan(part.error) && std::isnan(result.error));
    if (fails_first || larger || (same && part.worst < result.worst)) {
        result.error = part.error;
        result.worst = part.worst;
    }
    if (part.wrong > 0) result.first = fails_first ? part.first : std::min(result.first, part.first);
    result.wrong += part.wrong;
}

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
