#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>

#include "gpulab/error.hpp"
#include "gpulab/number.hpp"
#include "gpulab/options.hpp"

namespace gpulab {

std::int64_t parse_size(const std::string& text, std::string_view what) {
    constexpr double limit = 9223372036854775807.0;
    const auto wrong = [&](const std::string& why) -> UsageError {
        return UsageError(fmt::format("{}: '{}' {}", what, text, why));
    };
    const char* const begin = text.data();
    const char* const end = begin + text.size();

    std::int64_t whole = 0;
    const auto [rest, error] = std::from_chars(begin, end, whole);
    if (error == std::errc::result_out_of_range) throw wrong("is too large");
    if (error != std::errc{}) throw wrong("is not a whole number (examples: 1000000, 1e6, 2^20, 16Mi)");
    if (whole < 0) throw wrong("is negative");
    const std::string suffix(rest, end);
    if (suffix.empty()) return whole;

    static const std::map<std::string, double> units = {
        {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}};
    double value = 0;
    if (const auto unit = units.find(suffix); unit != units.end()) {
        value = static_cast<double>(whole) * unit->second;
    } else if (suffix[0] == '^') {
        int exponent = 0;
        const auto [stop, bad] = std::from_chars(rest + 1, end, exponent);
        if (bad != std::errc{} || stop != end || exponent < 0)
            throw wrong("is not a whole number (write powers as 2^20)");
        value = std::pow(static_cast<double>(whole), exponent);
    } else {
        const std::optional<double> number = real_in(text);
        if (!number || *number != std::floor(*number))
            throw wrong("is not a whole number (examples: 1000000, 1e6, 2^20, 16Mi)");
        value = *number;
    }
    if (!(value < limit)) throw wrong("is too large");
    return static_cast<std::int64_t>(value);
}

} // namespace gpulab
