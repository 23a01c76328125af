/// @file
/// The checks for right and wrong SAXPY kernels.
#pragma once

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "distances.hpp"
#include "gpulab/error.hpp"
#include "gpulab_testing/steps.hpp"
#include "rungs.hpp"
#include "saxpy.hpp"

namespace saxpy::testing {

using namespace gpulab::testing;

/// What is wrong with a variant's answer to a problem, or "".
inline std::string fault_at(const std::function<Run>& run, const Problem& p) {
    Output reference(p.size()), c(p.size());
    Stopwatch once;
    cpu_sequential(p, reference, once);
    return fault_of(run, p, c, [&] { return compare(p, reference, c); });
}

/// Runs a variant at every size on the current device.
/// @return the first fault, with the size it was found at; "" when all answers are right
inline std::string first_fault(Run* run, const std::vector<std::size_t>& sizes) {
    static constexpr float factors[] = {1.6180339f, -1.75f, 0.3f, 0, 1};
    for (const std::size_t n : sizes) {
        Problem p = make_problem(n, seed + n);
        p.k = factors[n % std::size(factors)];
        if (const std::string fault = fault_at(run, p); !fault.empty())
            return fmt::format("n = {}, k = {}: {}", n, p.k, fault);
    }
    return "";
}

/// The distances in double precision, rounded once: not by `cpu_distances`, which is itself under test.
inline Distances expected_distances(const DistanceProblem& p) {
    Distances d;
    for (const Point& to : p.points) { // not by hypot, which is infinite where one difference is and another is NaN
        const double dx = double{to.x} - p.from.x, dy = double{to.y} - p.from.y, dz = double{to.z} - p.from.z;
        d.push_back(static_cast<float>(std::sqrt(dx * dx + dy * dy + dz * dz)));
    }
    return d;
}

/// Runs a variant that computes distances at every size on the current device.
/// @return the first fault, with the size it was found at; "" when all answers are right
inline std::string first_distance_fault(DistanceRun* run, const std::vector<std::size_t>& sizes) {
    for (const std::size_t n : sizes) {
        const DistanceProblem p = make_distance_problem(n, seed + n);
        const Distances expected = expected_distances(p);
        Distances d(n);
        const std::string fault = fault_of(run, p, d, [&] { return compare(expected, d); });
        if (!fault.empty()) return fmt::format("n = {}: {}", n, fault);
    }
    return "";
}

/// NaN and infinities in each coordinate of the points, in every combination, and in the point that the distances are
/// from. A distance is infinite where a difference is, unless another one is NaN.
inline std::string special_distance_fault(DistanceRun* run) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    static constexpr float values[] = {3, -4, 12, 0, nan, inf, -inf};
    for (const Point& from : {Point{0, 0, 0}, Point{-1, 2, inf}, Point{nan, 0, 1}}) {
        DistanceProblem p{from, {}};
        for (const float x : values)
            for (const float y : values)
                for (const float z : values) p.points.push_back({x, y, z});
        const Distances expected = expected_distances(p);
        Distances d(expected.size());
        const auto judge = [&] {
            Distances finite = expected, got = d;
            for (std::size_t i = 0; i < d.size(); ++i) { // compare() counts NaN as a mistake
                const bool nan_too = std::isnan(expected[i]) && std::isnan(d[i]) && !gpulab::is_poison(d[i]);
                if (nan_too) finite[i] = got[i] = 0;
            }
            return compare(finite, got);
        };
        const std::string fault = fault_of(run, p, d, judge);
        if (!fault.empty()) return fmt::format("from ({}, {}, {}): {}", from.x, from.y, from.z, fault);
    }
    return "";
}

/// Three elements by hand, exact in any arithmetic: 2 (1, 2, 3) + (10, 20, 30) = (12, 24, 36), and a case with signs
/// and a factor below 1.
inline std::string fault_by_hand(Run* run) {
    Output c(3);
    Stopwatch once;
    in_turn([&] { run({2, {1, 2, 3}, {10, 20, 30}}, c, once); });
    if (c != Output{12, 24, 36})
        return fmt::format("2 (1, 2, 3) + (10, 20, 30) should be (12, 24, 36), got ({}, {}, {})", c[0], c[1], c[2]);
    in_turn([&] { run({-0.5f, {4, -2, 6}, {1, -1, 3}}, c, once); });
    if (c != Output{-1, 0, 0})
        return fmt::format("-0.5 (4, -2, 6) + (1, -1, 3) should be (-1, 0, 0), got ({}, {}, {})", c[0], c[1], c[2]);
    return "";
}

/// NaN, infinities and denormals in a and in b, in every pair, at every position of a vector and of a tile. All finite
/// results are exact, so they must be equal to the last bit.
/// @param n elements; 169 of them hold every pair once
/// @param k_is_0 whether 0 is one of the factors: BLAS allows a library not to read a where k is 0, although
///        0 times NaN is NaN
inline std::string special_fault(Run* run, std::size_t n, bool k_is_0) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    constexpr float tiny = std::numeric_limits<float>::denorm_min(), small = std::numeric_limits<float>::min();
    static constexpr float values[] = {1, nan, inf, -inf, 0, tiny, -3 * tiny, small, small - tiny, -2, 0.5f, -0.0f, 7};
    for (const float k : {2.0f, -1.0f, 0.0f, inf, nan}) {
        if (k == 0 && !k_is_0) continue;
        Problem p{k, Output(n), Output(n)};
        Output expected(n), c(n);
        for (std::size_t i = 0; i < n; ++i) {
            p.a[i] = values[i % 13];
            p.b[i] = values[i / 13 % 13];
            expected[i] = k * p.a[i] + p.b[i]; // exact: k is a power of two, so that fusing changes nothing
        }
        for (Stopwatch watch : {Stopwatch(0, 1), Stopwatch(1, 2)}) {
            gpulab::poison(c);
            in_turn([&] { run(p, c, watch); });
            const std::string fault = gpulab::testing::special_fault(expected, c);
            if (!fault.empty()) return fmt::format("n = {}, k = {}: {}", n, k, fault);
        }
    }
    return "";
}

} // namespace saxpy::testing
