/// @file
/// The checks that right and wrong kernels of lab 02 go through.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dot.hpp"
#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/steps.hpp"
#include "reduction.hpp"
#include "scan.hpp"
#include "series.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/context.hpp"
#endif

namespace reduction::testing {

using namespace gpulab::testing;
using gpulab::Backend;
using Sizes = std::vector<std::size_t>;

/// Inputs that a summation can fail at in different ways.
enum class Input {
    positive,   ///< in (0, 1): a missing element cannot hide
    cancelling, ///< every number and its negative: the sum is (nearly) nothing, the scale is not
    magnitudes, ///< of both signs and of sizes from 2^-20 to 2^20
    whole       ///< -3, -2, -1, 1, 2 or 3: no order of summation rounds, so that only the exact sum passes
};
using Inputs = std::initializer_list<Input>;
inline constexpr Inputs all_inputs = {Input::positive, Input::cancelling, Input::magnitudes, Input::whole};
/// For large arrays: the exact sum alone passes, so a single missing element shows among any number.
inline constexpr Inputs whole_numbers = {Input::whole};

inline const char* name_of(Input input) {
    switch (input) {
    case Input::positive: return "positive numbers";
    case Input::cancelling: return "numbers that cancel";
    case Input::magnitudes: return "numbers of very different size";
    case Input::whole: return "whole numbers";
    }
    return "?";
}
inline const char* name_of(Scan kind) { return kind == Scan::inclusive ? "inclusive" : "exclusive"; }

/// n numbers of a kind.
template <class T> std::vector<T> numbers(Input input, std::size_t n, std::uint64_t seed) {
    if (input == Input::whole) {
        std::vector<T> a(n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t bits = gpulab::random_bits(seed + 1, i);
            a[i] = static_cast<T>(bits % 2 == 0 ? 1 : -1) * static_cast<T>(1 + bits / 2 % 3);
        }
        return a;
    }
    std::vector<T> a = gpulab::random_vector<T>(n, seed, T{0}, T{1});
    if (input == Input::cancelling)
        for (std::size_t i = 0; i < n / 2; ++i) a[n - 1 - i] = -a[i];
    if (input == Input::magnitudes)
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t bits = gpulab::random_bits(seed + 1, i);
            a[i] = std::ldexp(bits % 2 == 0 ? a[i] : -a[i], static_cast<int>(bits / 2 % 41) - 20);
        }
    return a;
}

/// The sizes that a variant can do; that it refuses the others is a test of its own.
inline Sizes sizes_for(std::string_view variant, Sizes sizes) {
    if (variant.ends_with("one_block")) std::erase_if(sizes, [](std::size_t n) { return n > 1024; });
    return sizes;
}

/// Whether the current device of a back end adds denormals of type T. OpenCL leaves it to the device for floats.
template <class T> bool keeps_denormals([[maybe_unused]] Backend backend) {
#if defined(GPULAB_WITH_OPENCL)
    if (backend == Backend::opencl && std::is_same_v<T, float>)
        return (gpulab::opencl().device().getInfo<CL_DEVICE_SINGLE_FP_CONFIG>() & CL_FP_DENORM) != 0;
#endif
    return true;
}

/// Places among n elements to put a special value at: both ends, both sides of the end of each tile, and `most` others,
/// an odd number of elements apart, so that every component of a vector and every lane of a warp has its turn. All n of
/// them when there are no more than `most`.
inline Sizes places(std::size_t n, const std::vector<gpulab::Tile>& tiles, std::size_t most) {
    std::set<std::size_t> all = {n - 1};
    for (std::size_t at = 0; at < n; at += n <= most ? 1 : (n / most | 1)) all.insert(at);
    for (const gpulab::Tile& tile : tiles)
        for (const std::size_t at : {tile.size - 1, tile.size, 2 * tile.size - 1, 2 * tile.size})
            if (at < n) all.insert(at);
    return {all.begin(), all.end()};
}

/// Sizes for special values: a few by hand, and two whole tiles with a ragged one behind.
inline Sizes special_sizes(const std::vector<gpulab::Tile>& tiles, std::size_t largest) {
    std::set<std::size_t> sizes = {1, 2, 33, 1023, 1025};
    for (const gpulab::Tile& tile : tiles)
        if (2 * tile.size + 5 <= largest) sizes.insert(2 * tile.size + 5);
    return {sizes.begin(), sizes.end()};
}

/// The sum, dot product or series that a variant gives in one run.
template <class T, class Problem> T value_of(void (*run)(const Problem&, Scalar<T>&, Stopwatch&), const Problem& p) {
    Scalar<T> value{T{-1}};
    Stopwatch once;
    in_turn([&] { run(p, value, once); });
    return value[0];
}

/// What is wrong with the sum, dot product or series that a variant gives, or "".
template <class T, class Problem>
std::string fault_with(void (*run)(const Problem&, Scalar<T>&, Stopwatch&), const Problem& p,
                       const Expected<T>& expected, double tolerance) {
    Scalar<T> value(1);
    return fault_of(run, p, value, [&] { return compare(expected, value, tolerance); });
}

/// Whether a number is NaN, and not the NaN that marks unwritten elements.
template <class T> bool computed_nan(T x) { return std::isnan(x) && !gpulab::is_poison(x); }

/// Runs a variant of the sum at every size with every kind of input on the current device.
/// @return the first fault, with the size it was found at; "" when all answers are right
template <class T>
std::string first_fault(SumRun<T>* run, Backend backend, const Sizes& sizes, Inputs inputs = all_inputs) {
    for (const std::size_t n : sizes)
        for (const Input input : inputs) {
            const SumProblem<T> p{numbers<T>(input, n, seed + n)};
            const std::string fault =
                fault_with(run, p, expected_sum(p), input == Input::whole ? 0 : tolerance<T>(backend, n));
            if (!fault.empty()) return fmt::format("n = {}, {}: {}", n, name_of(input), fault);
        }
    return "";
}

/// Puts NaN and infinities at many places among n numbers: they must come through.
template <class T>
std::string special_fault(SumRun<T>* run, std::size_t n, const std::vector<gpulab::Tile>& tiles = {}) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    SumProblem<T> p{gpulab::random_vector<T>(n, seed)};
    std::vector<T>& a = p.a;
    const auto sum_up = [&] { return value_of(run, p); };
    for (const std::size_t at : places(n, tiles, n < 100'000 ? 64 : 8)) {
        const std::size_t next = (at + 1) % n;
        const T old = a[at], old_next = a[next];
        a[at] = nan;
        if (!computed_nan(sum_up())) return fmt::format("n = {}: the NaN at {} was lost", n, at);
        a[at] = infinity;
        if (sum_up() != infinity) return fmt::format("n = {}: the infinity at {} was lost", n, at);
        a[at] = -infinity;
        if (sum_up() != -infinity) return fmt::format("n = {}: the negative infinity at {} was lost", n, at);
        a[next] = infinity;
        if (n > 1 && !computed_nan(sum_up())) return fmt::format("n = {}: infinity - infinity at {} is no NaN", n, at);
        a[next] = old_next;
        a[at] = old;
    }
    return "";
}

/// The smallest number above 0. Its multiples below 2^23 are denormals, and no sum of them rounds.
template <class T> constexpr T smallest = std::numeric_limits<T>::denorm_min();
/// A large denormal: a few of them add up to no denormal any more. Its multiples below 2^24 are exact.
template <class T> inline const T large_denormal = std::ldexp(smallest<T>, std::numeric_limits<T>::digits - 4);

/// n denormals, 1, 2 or 3 times `unit`. @pre n below 2^20
template <class T> std::vector<T> denormals(std::size_t n, T unit = smallest<T>) {
    std::vector<T> a(n);
    for (std::size_t i = 0; i < n; ++i) a[i] = static_cast<T>(i % 3 + 1) * unit;
    return a;
}

/// Adds up n denormals.
template <class T> std::string denormal_fault(SumRun<T>* run, std::size_t n, T unit) {
    const SumProblem<T> p{denormals<T>(n, unit)};
    const T expected = std::accumulate(p.a.begin(), p.a.end(), T{0}), sum = value_of(run, p);
    return sum == expected ? "" : fmt::format("n = {}: denormals add up to {} instead of {}", n, sum, expected);
}

/// Runs a variant of the prefix sum at every size, inclusive and exclusive, on the current device.
/// @return the first fault; "" when all answers are right
template <class T>
std::string first_scan_fault(ScanRun<T>* run, Backend backend, const Sizes& sizes, Inputs inputs = all_inputs) {
    for (const std::size_t n : sizes)
        for (const Scan kind : {Scan::inclusive, Scan::exclusive})
            for (const Input input : inputs) {
                if (std::is_integral_v<T> && input != *inputs.begin()) continue;
                ScanProblem<T> p{kind, {}};
                if constexpr (std::is_integral_v<T>) p = make_scan_problem<T>(kind, n, seed + n);
                else p.a = numbers<T>(input, n, seed + n);
                const Prefixes<T> expected = expected_scan(p);
                Prefixes<T> out(n);
                const std::string fault = fault_of(run, p, out, [&] {
                    return compare(p, expected, out, input == Input::whole ? 0 : scan_tolerance<T>(backend, n));
                });
                if (!fault.empty()) return fmt::format("n = {}, {}, {}: {}", n, name_of(kind), name_of(input), fault);
            }
    return "";
}

/// Puts a NaN at many places among n whole numbers, and an infinity at every eighth of these: all prefix sums from
/// there on are NaN or infinite, those before are what they were, to the last bit.
template <class T>
std::string special_scan_fault(ScanRun<T>* run, std::size_t n, const std::vector<gpulab::Tile>& tiles = {},
                               std::size_t most = 400) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    for (const Scan kind : {Scan::inclusive, Scan::exclusive}) {
        ScanProblem<T> p{kind, numbers<T>(Input::whole, n, seed + n)};
        const Prefixes<T> finite = expected_scan(p);
        Prefixes<T> out(n);
        const Sizes all = places(n, tiles, n < 100'000 ? most : 4);
        for (std::size_t k = 0; k < all.size(); ++k)
            for (const T special : {nan, k % 16 == 0 ? infinity : -infinity}) {
                if (std::isinf(special) && k % 8 != 0) continue;
                const std::size_t at = all[k];
                const T old = std::exchange(p.a[at], special);
                Prefixes<T> expected = finite;
                std::fill(expected.begin() + static_cast<std::ptrdiff_t>(kind == Scan::inclusive ? at : at + 1),
                          expected.end(), special);
                gpulab::poison(out);
                Stopwatch once;
                in_turn([&] { run(p, out, once); });
                const std::string fault = gpulab::testing::special_fault(expected, out);
                if (!fault.empty())
                    return fmt::format("n = {}, {}, {} at {}: {}", n, name_of(kind), special, at, fault);
                p.a[at] = old;
            }
    }
    return "";
}

/// The prefix sums of n denormals, which are denormals too.
template <class T> std::string denormal_scan_fault(ScanRun<T>* run, std::size_t n) {
    const ScanProblem<T> p{Scan::inclusive, denormals<T>(n)};
    Prefixes<T> expected(n), out(n);
    std::partial_sum(p.a.begin(), p.a.end(), expected.begin());
    gpulab::poison(out);
    Stopwatch once;
    in_turn([&] { run(p, out, once); });
    const std::string fault = gpulab::testing::special_fault(expected, out);
    return fault.empty() ? "" : fmt::format("n = {}: {}", n, fault);
}

/// Runs a variant of the dot product at every size with every kind of input on the current device.
/// @return the first fault; "" when all answers are right
template <class T>
std::string first_dot_fault(DotRun<T>* run, Backend backend, const Sizes& sizes, Inputs inputs = all_inputs) {
    for (const std::size_t n : sizes)
        for (const Input input : inputs) {
            const bool whole = input == Input::whole; // then both are, and no product or sum rounds
            const DotProblem<T> p{numbers<T>(input, n, seed),
                                  numbers<T>(whole ? Input::whole : Input::positive, n, seed + 5)};
            const std::string fault = fault_with(run, p, expected_dot(p), whole ? 0 : dot_tolerance<T>(backend, n));
            if (!fault.empty()) return fmt::format("n = {}, {}: {}", n, name_of(input), fault);
        }
    return "";
}

/// Puts NaN and infinities at many places of a and of b: the products with them must come through.
template <class T>
std::string special_dot_fault(DotRun<T>* run, std::size_t n, const std::vector<gpulab::Tile>& tiles = {}) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    struct Case {
        T special, other, expected;
    };
    static constexpr Case cases[] = {
        {nan, 2, nan}, {nan, 0, nan}, {infinity, 2, infinity}, {infinity, -2, -infinity}, {infinity, 0, nan}};
    DotProblem<T> p = make_dot_problem<T>(n, seed);
    for (const std::size_t at : places(n, tiles, n < 100'000 ? 64 : 8))
        for (const bool in_a : {true, false}) {
            T &one = (in_a ? p.a : p.b)[at], &other = (in_a ? p.b : p.a)[at];
            const T old_one = one, old_other = other;
            for (const Case& c : cases) {
                one = c.special;
                other = c.other;
                const T dot = value_of(run, p);
                if (std::isnan(c.expected) ? !computed_nan(dot) : dot != c.expected)
                    return fmt::format("n = {}, {} in {} at {}, times {}: expected {}, got {}", n, c.special,
                                       in_a ? "a" : "b", at, c.other, c.expected, dot);
            }
            one = old_one;
            other = old_other;
        }
    return "";
}

/// The dot product of n denormals with ones and twos in turn, which is one too.
template <class T> std::string denormal_dot_fault(DotRun<T>* run, std::size_t n) {
    DotProblem<T> p{denormals<T>(n), std::vector<T>(n)};
    for (std::size_t i = 0; i < n; ++i) p.b[i] = static_cast<T>(i % 2 + 1);
    const T expected = std::inner_product(p.a.begin(), p.a.end(), p.b.begin(), T{0}), dot = value_of(run, p);
    if (dot == expected) return "";
    return fmt::format("n = {}: products of denormals add up to {} instead of {}", n, dot, expected);
}

/// Runs a variant of the series with every number of terms on the current device.
/// @param problems the series; its number of terms is filled in
/// @return the first fault; "" when all answers are right
template <class T>
std::string first_series_fault(SeriesRun<T>* run, Backend backend, const Sizes& sizes,
                               std::span<const SeriesProblem<T>> problems) {
    for (const std::size_t terms : sizes)
        for (SeriesProblem<T> p : problems) {
            p.terms = terms;
            const std::string fault = fault_with(run, p, expected_series(p), series_tolerance<T>(backend, terms));
            if (!fault.empty())
                return fmt::format("{}, x = {}, {} terms: {}", p.series == Series::pi ? "pi" : "log", p.x, terms,
                                   fault);
        }
    return "";
}

/// pi, and log(1 + x) at several x.
template <class T> std::string first_series_fault(SeriesRun<T>* run, Backend backend, const Sizes& sizes) {
    std::vector<SeriesProblem<T>> problems = {{Series::pi, T{1}, 0}};
    for (const double x : {1.0, 0.5, -0.5, 0.999, -0.999, 0.0}) problems.push_back({Series::log, static_cast<T>(x), 0});
    return first_series_fault<T>(run, backend, sizes, problems);
}

/// More terms of pi and of log 2 than 32 bits count, in double: far too many to add up here, but with so many terms the
/// rest of either series is known to far more digits than a double has (Euler and Maclaurin).
inline std::string fault_beyond_32_bits(SeriesRun<double>* run, Backend backend) {
    constexpr std::size_t terms = (std::size_t{1} << 32) + 325; // odd: the last term is positive
    const double n = static_cast<double>(terms);
    const double magnitude = std::log(n) + 0.5772156649015329; // of 1 + 1/2 + ... + 1/n
    const Expected<double> pi{{std::acos(-1.0) + 1 / n}, 2 * (magnitude + 2 * std::log(2.0))};
    const Expected<double> log_2{{std::log(2.0) + 1 / (2 * n)}, magnitude};
    for (const auto& [series, expected] : {std::pair{Series::pi, pi}, std::pair{Series::log, log_2}}) {
        const Scalar<double> sum{value_of(run, {series, 1, terms})};
        const gpulab::Comparison comparison = compare(expected, sum, series_tolerance<double>(backend, terms));
        if (!comparison.passed) return comparison.message;
    }
    return "";
}

} // namespace reduction::testing
