/// @file
/// The checks that right and wrong kernels of lab 02 go through.
#pragma once

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <vector>

#include "dot.hpp"
#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/testing.hpp"
#include "reduction.hpp"
#include "scan.hpp"
#include "series.hpp"

namespace reduction::testing {

using gpulab::Backend;

/// Inputs that a summation can fail at in different ways.
enum class Input {
    positive,   ///< in (0, 1): a missing element cannot hide
    cancelling, ///< every number and its negative: the sum is (nearly) nothing, the scale is not
    magnitudes, ///< of both signs and of sizes from 2^-20 to 2^20
    whole       ///< -3, -2, -1, 1, 2 or 3: no order of summation rounds, so that only the exact sum passes
};
inline constexpr std::array inputs = {Input::positive, Input::cancelling, Input::magnitudes, Input::whole};

inline const char* name_of(Input input) {
    switch (input) {
    case Input::positive: return "positive numbers";
    case Input::cancelling: return "numbers that cancel";
    case Input::magnitudes: return "numbers of very different size";
    case Input::whole: return "whole numbers";
    }
    return "?";
}

/// n numbers of a kind.
template <class T> std::vector<T> numbers(Input input, std::size_t n, std::uint64_t seed) {
    std::vector<T> a = gpulab::random_vector<T>(n, seed, T{0}, T{1});
    if (input == Input::cancelling)
        for (std::size_t i = 0; i < n / 2; ++i) a[n - 1 - i] = -a[i];
    if (input == Input::magnitudes)
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t bits = gpulab::random_bits(seed + 1, i);
            a[i] = std::ldexp(bits % 2 == 0 ? a[i] : -a[i], static_cast<int>(bits / 2 % 41) - 20);
        }
    if (input == Input::whole)
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t bits = gpulab::random_bits(seed + 1, i);
            a[i] = static_cast<T>(bits % 2 == 0 ? 1 : -1) * static_cast<T>(1 + bits / 2 % 3);
        }
    return a;
}

/// Runs a variant of the sum at every size with every kind of input on the current device.
/// @return the first fault, with the size it was found at; "" when all answers are right
template <class T> std::string first_fault(SumRun<T>* run, Backend backend, const std::vector<std::size_t>& sizes) {
    for (const std::size_t n : sizes)
        for (const Input input : inputs) {
            const SumProblem<T> p{numbers<T>(input, n, gpulab::testing::seed + n)};
            const Expected<T> expected = expected_sum(p);
            Scalar<T> sum(1);
            const std::string fault = gpulab::testing::fault_of(run, p, sum, [&] {
                return compare(expected, sum, input == Input::whole ? 0 : tolerance<T>(backend, n));
            });
            if (!fault.empty()) return fmt::format("n = {}, {}: {}", n, name_of(input), fault);
        }
    return "";
}

/// Puts NaN and infinities at the start, in the middle and at the end of n numbers: they must come through.
/// (gpulab::compare lets no NaN pass, so this looks for itself; the output starts as 0 for the same reason.)
template <class T> std::string special_fault(SumRun<T>* run, std::size_t n) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    const auto sum_of = [&](const std::vector<T>& a) {
        Scalar<T> sum{0};
        Stopwatch once;
        run({a}, sum, once);
        return sum[0];
    };
    for (const std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
        std::vector<T> a = gpulab::random_vector<T>(n, gpulab::testing::seed);
        a[at] = nan;
        if (!std::isnan(sum_of(a))) return fmt::format("n = {}: the NaN at {} was lost", n, at);
        a[at] = infinity;
        if (sum_of(a) != infinity) return fmt::format("n = {}: the infinity at {} was lost", n, at);
        a[at] = -infinity;
        if (sum_of(a) != -infinity) return fmt::format("n = {}: the negative infinity at {} was lost", n, at);
        if (n < 2) continue;
        a[(at + 1) % n] = infinity;
        if (!std::isnan(sum_of(a))) return fmt::format("n = {}: infinity - infinity at {} is no NaN", n, at);
    }
    return "";
}

/// Runs a variant of the prefix sum at every size, inclusive and exclusive, on the current device.
/// @return the first fault; "" when all answers are right
template <class T>
std::string first_scan_fault(ScanRun<T>* run, Backend backend, const std::vector<std::size_t>& sizes) {
    for (const std::size_t n : sizes)
        for (const Scan kind : {Scan::inclusive, Scan::exclusive})
            for (const Input input : inputs) {
                if (std::is_integral_v<T> && input != Input::positive) continue;
                ScanProblem<T> p = make_scan_problem<T>(kind, n, gpulab::testing::seed + n);
                if constexpr (!std::is_integral_v<T>) p.a = numbers<T>(input, n, gpulab::testing::seed + n);
                const Prefixes<T> expected = expected_scan(p);
                Prefixes<T> out(n);
                const std::string fault = gpulab::testing::fault_of(run, p, out, [&] {
                    return compare(p, expected, out, input == Input::whole ? 0 : scan_tolerance<T>(backend, n));
                });
                if (!fault.empty())
                    return fmt::format("n = {}, {}, {}: {}", n, kind == Scan::inclusive ? "inclusive" : "exclusive",
                                       name_of(input), fault);
            }
    return "";
}

/// Runs a variant of the dot product at every size with every kind of input on the current device.
/// @return the first fault; "" when all answers are right
template <class T> std::string first_dot_fault(DotRun<T>* run, Backend backend, const std::vector<std::size_t>& sizes) {
    for (const std::size_t n : sizes)
        for (const Input input : inputs) {
            const bool whole = input == Input::whole; // then both are, and no product or sum rounds
            const DotProblem<T> p{numbers<T>(input, n, gpulab::testing::seed),
                                  numbers<T>(whole ? Input::whole : Input::positive, n, gpulab::testing::seed + 5)};
            const Expected<T> expected = expected_dot(p);
            Scalar<T> dot(1);
            const std::string fault = gpulab::testing::fault_of(
                run, p, dot, [&] { return compare(expected, dot, whole ? 0 : dot_tolerance<T>(backend, n)); });
            if (!fault.empty()) return fmt::format("n = {}, {}: {}", n, name_of(input), fault);
        }
    return "";
}

/// Runs a variant of the series with every number of terms, pi and log(1 + x) at several x, on the current device.
/// @return the first fault; "" when all answers are right
template <class T>
std::string first_series_fault(SeriesRun<T>* run, Backend backend, const std::vector<std::size_t>& sizes) {
    for (const std::size_t terms : sizes) {
        std::vector<SeriesProblem<T>> problems = {{Series::pi, T{1}, terms}};
        for (const double x : {1.0, 0.5, -0.5, 0.999, -0.999, 0.0})
            problems.push_back({Series::log, static_cast<T>(x), terms});
        for (const SeriesProblem<T>& p : problems) {
            const Expected<T> expected = expected_series(p);
            Scalar<T> sum(1);
            const std::string fault = gpulab::testing::fault_of(
                run, p, sum, [&] { return compare(expected, sum, series_tolerance<T>(backend, terms)); });
            if (!fault.empty())
                return fmt::format("{}, x = {}, {} terms: {}", p.series == Series::pi ? "pi" : "log", p.x, terms,
                                   fault);
        }
    }
    return "";
}

} // namespace reduction::testing
