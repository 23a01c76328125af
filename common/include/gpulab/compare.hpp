/// @file
/// Compares the whole output with a reference. NaN and elements that nobody wrote always fail.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "gpulab/diagnosis.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/poison.hpp"

namespace gpulab {

/// The outcome of a comparison.
struct Comparison {
    bool passed = false;
    double error = std::numeric_limits<double>::quiet_NaN(); ///< the worst error found, in units of the scale
    double tolerance = 0;
    std::size_t worst = 0; ///< the index of the worst error
    std::size_t wrong = 0; ///< how many elements are beyond the tolerance; 0 for arrays of different lengths
    std::size_t first = 0; ///< the first of them
    std::string message;   ///< when failed: how many are wrong, where, what they look like, both values of the first
};

namespace detail {

/// How far one element is from what is expected, in units of the scale: 0 when they are equal, NaN when one is NaN.
/// @param scale called with i only where the two differ
template <class T, class Scale> double error_at(std::size_t i, T expected, T actual, const Scale& scale) {
    if (expected == actual) return 0; // equal infinities, too; false for NaN
    double difference = std::abs(static_cast<double>(actual) - static_cast<double>(expected));
    if (std::isnan(difference)) return std::numeric_limits<double>::quiet_NaN();
    if (difference == 0) difference = 1; // integers beyond 2^53 that a double cannot tell apart
    const double s = static_cast<double>(scale(i));
    return s > 0 && std::isfinite(s) ? difference / s : std::numeric_limits<double>::infinity();
}

/// Compares the elements from begin to end - 1; says nothing of passed and message.
template <class T, class Scale>
Comparison compare_range(std::size_t begin, std::size_t end, std::span<const T> expected, std::span<const T> actual,
                         double tolerance, const Scale& scale) {
    Comparison result;
    result.error = 0;
    for (std::size_t i = begin; i < end; ++i) {
        const double error = error_at(i, expected[i], actual[i], scale);
        const bool within = error <= tolerance; // NaN is never within
        if (!within && result.wrong++ == 0) {   // the first failure outranks any error within tolerance
            result.first = result.worst = i;
            result.error = error;
        } else if (within == (result.wrong == 0) && !(error <= result.error) && !std::isnan(result.error)) { // or NaN
            result.worst = i;
            result.error = error;
        }
    }
    return result;
}

/// Adds what another range gave, so that the order in which ranges end makes no difference: of equal errors the one
/// with the lower index counts, and so does the first NaN.
void join(Comparison& result, const Comparison& part);

std::string in_digits(float value); ///< as few digits as tell it from all others: 0.1f is "0.1"
std::string in_digits(double value);
template <class T> std::string in_digits(T value) { return std::to_string(value); }

/// The message of a comparison that failed.
/// @param expected,actual the values of the first wrong element
/// @param integers,bytes whether the elements are integers, and whether they have one byte
std::string failure_message(const Comparison& comparison, std::size_t n, const std::string& expected,
                            const std::string& actual, const Diagnosis& diagnosis, bool integers, bool bytes);

} // namespace detail

/// Compares every element: |actual - expected| <= tolerance * scale(i).
///
/// The scale is the size of the numbers that were added or multiplied to get element i, not the size of the
/// result, which cancellation can make arbitrarily small: |k a_i| + |b_i| for SAXPY.
/// Equal infinities agree. NaN agrees with nothing, not even with NaN. Long arrays are compared by several threads.
/// @param expected,actual arrays of the same length; otherwise the comparison fails
/// @param tolerance finite; a small constant times epsilon times the growth of the operation
/// @param scale a function from index to a number >= 0, which several threads call at the same time. Where it gives 0
/// (there was nothing to add up) or infinity
///              only the exact result passes
template <class T, class Scale>
Comparison compare(std::span<const T> expected, std::span<const T> actual, double tolerance, const Scale& scale) {
    Comparison result;
    result.tolerance = tolerance;
    const std::size_t n = expected.size();
    if (actual.size() != n) {
        result.message = "expected " + std::to_string(n) + " elements, got " + std::to_string(actual.size());
        return result;
    }
    result.error = 0;
    constexpr std::size_t worth_a_thread = 1 << 18;
    std::mutex joining;
    for_ranges(n, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        const Comparison part = detail::compare_range(begin, end, expected, actual, tolerance, scale);
        const std::lock_guard lock(joining);
        detail::join(result, part);
    });
    result.passed = result.wrong == 0 && result.error <= tolerance && std::isfinite(tolerance);
    if (result.passed) return result;

    Diagnosis diagnosis; // a second pass, for the message only
    for (std::size_t i = 0; i < n; ++i) {
        const auto matches = [&](auto e, auto a) { return detail::error_at(i, e, a, scale) <= tolerance; };
        if (matches(expected[i], actual[i])) diagnosis.right(i);
        else diagnosis.wrong(i, n, looks_of(i, expected, actual[i], matches));
    }
    const std::size_t at = result.first;
    result.message = detail::failure_message(result, n, n == 0 ? "" : detail::in_digits(expected[at]),
                                             n == 0 ? "" : detail::in_digits(actual[at]), diagnosis,
                                             std::is_integral_v<T>, sizeof(T) == 1);
    return result;
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
/// The same for vectors, with an absolute tolerance.
template <class T> Comparison compare(const std::vector<T>& expected, const std::vector<T>& actual, double tolerance) {
    return compare(std::span<const T>(expected), std::span<const T>(actual), tolerance, 1.0);
}

} // namespace gpulab
