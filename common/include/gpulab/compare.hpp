/// @file
/// Is the answer right? The whole output against a reference; NaN and what nobody wrote always fail.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace gpulab {

/// The outcome of a comparison.
struct Comparison {
    bool passed = false;
    double error = std::numeric_limits<double>::quiet_NaN(); ///< the worst error found, in units of the scale
    double tolerance = 0;
    std::size_t worst = 0; ///< where the worst error stands
    std::string message;   ///< when failed: worst index, both values, error and tolerance
};

/// What every byte of an array of T holds that nobody has written: all bits set, a NaN, for floating point and
/// structures of it; for integers a pattern that is no likely answer (-1 is one: "not found").
template <class T> constexpr unsigned char poison_byte_for() { return std::is_integral_v<T> ? 0xA7 : 0xFF; }

/// The value that marks memory nobody has written: NaN for floating point, 0xA7A7... for integers.
/// The NaN is the one with all bits set, as poison_byte_for() leaves it: no computation gives it.
template <class T> constexpr T poison_value() {
    if constexpr (sizeof(T) == 4 && std::is_floating_point_v<T>) return std::bit_cast<T>(0xFFFFFFFFu);
    else if constexpr (std::is_floating_point_v<T>) return std::bit_cast<T>(0xFFFFFFFFFFFFFFFFu);
    else return static_cast<T>(0xA7A7A7A7A7A7A7A7u);
}

/// Whether a value is the mark of memory nobody has written; false for a NaN that was computed.
template <class T> bool is_poison(const T& value) {
    const T poison = poison_value<T>();
    return std::memcmp(&value, &poison, sizeof(T)) == 0;
}

/// Fills an output before a variant runs, so that a stale or unwritten element cannot pass for an answer.
template <class T> void poison(std::vector<T>& values) { std::fill(values.begin(), values.end(), poison_value<T>()); }

/// Builds the outcome for one pair of arrays; used by compare().
Comparison make_comparison(bool same_size, std::size_t expected_size, std::size_t actual_size, bool all_within,
                           std::size_t worst, double expected, double actual, double error, double tolerance);

/// Compares every element: |actual - expected| <= tolerance * scale(i).
///
/// The scale is the size of the numbers that were added or multiplied to get element i, not the size of the
/// result, which cancellation can make as small as you like: |k a_i| + |b_i| for SAXPY.
/// Equal infinities agree. NaN agrees with nothing, not even with NaN.
/// @param expected,actual arrays of the same length; another length fails
/// @param tolerance finite; a small constant times epsilon times the growth of the operation
/// @param scale a function from index to a number >= 0. Where it gives 0 (there was nothing to add up) or infinity
///              only the exact result passes
template <class T, class Scale>
Comparison compare(std::span<const T> expected, std::span<const T> actual, double tolerance, const Scale& scale) {
    if (expected.size() != actual.size())
        return make_comparison(false, expected.size(), actual.size(), false, 0, 0, 0, 0, tolerance);
    double worst_error = 0;
    std::size_t worst = 0;
    bool all_within = true;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double e = static_cast<double>(expected[i]);
        const double a = static_cast<double>(actual[i]);
        double error = 0;
        if (expected[i] != actual[i]) { // also true for NaN; equal infinities stay at error 0
            double difference = std::abs(a - e);
            if (difference == 0) difference = 1; // integers beyond 2^53 that a double cannot tell apart
            const double s = static_cast<double>(scale(i));
            error = s > 0 && std::isfinite(s) ? difference / s : std::numeric_limits<double>::infinity();
            if (std::isnan(difference)) error = std::numeric_limits<double>::quiet_NaN();
        }
        const bool within = error <= tolerance; // NaN is never within
        if (all_within && !within) {            // the first failure outranks any error within tolerance
            all_within = false;
            worst_error = error;
            worst = i;
        } else if (within == all_within && error > worst_error) {
            worst_error = error;
            worst = i;
        }
    }
    const bool any = !expected.empty();
    return make_comparison(true, expected.size(), actual.size(), all_within, worst,
                           any ? static_cast<double>(expected[worst]) : 0, any ? static_cast<double>(actual[worst]) : 0,
                           worst_error, tolerance);
}

/// Compares with one scale for all elements; 1 makes the tolerance absolute.
template <class T>
Comparison compare(std::span<const T> expected, std::span<const T> actual, double tolerance, double scale = 1) {
    return compare(expected, actual, tolerance, [scale](std::size_t) { return scale; });
}

/// The same for vectors.
template <class T, class Scale>
Comparison compare(const std::vector<T>& expected, const std::vector<T>& actual, double tolerance, const Scale& scale) {
    return compare(std::span<const T>(expected), std::span<const T>(actual), tolerance, scale);
}
/// The same for vectors, with the tolerance absolute.
template <class T> Comparison compare(const std::vector<T>& expected, const std::vector<T>& actual, double tolerance) {
    return compare(std::span<const T>(expected), std::span<const T>(actual), tolerance, 1.0);
}

} // namespace gpulab
