/// @file
/// The checks of more elements than 32 bits count, that right and wrong kernels go through: an index or a count of 32
/// bits fails here and nowhere else. The numbers are ones, far apart, among zeros: every sum of them is below 2^24, so
/// that a float holds it exactly, whatever the order of summation, and is known without a reference.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "dot.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/math.hpp"
#include "gpulab_testing/large.hpp"
#include "reduction.hpp"
#include "scan.hpp"

namespace reduction::testing {

/// Every 641st element of the large arrays is a one, the 641st being the first. 641 divides 2^31 + 321 and 2^32 + 1: of
/// the last elements, those that 32 bits do not count, exactly one is a one, and none of the first elements is, that an
/// index gets back to when it wraps.
inline constexpr std::size_t apart = 641;

/// Zeros with a one at elements apart - 1, 2 apart - 1 and so on.
inline std::vector<float> ones_apart(std::size_t n) {
    std::vector<float> a(n);
    for (std::size_t i = apart - 1; i < n; i += apart) a[i] = 1;
    return a;
}

/// How many of the first n there are.
inline std::size_t ones_among(std::size_t n) { return n / apart; }

/// Ones and zeros in turn: the other factor of a dot product.
inline std::vector<float> every_other(std::size_t n) {
    std::vector<float> b(n);
    for (std::size_t i = 0; i < n; i += 2) b[i] = 1;
    return b;
}

/// The dot product of ones_apart and every_other: ones stand at the even places of i = apart - 1, 2 apart - 1 ...,
/// which, apart being odd, are the first, the third and so on.
inline std::size_t ones_shared(std::size_t n) { return gpulab::ceil_div(ones_among(n), 2); }

/// Runs a variant once. @return a stray write, or what judge() says
template <class Run, class Problem, class Output, class Judge>
std::string large_fault_of(Run* run, const Problem& p, Output& out, const Judge& judge) {
    gpulab::take_stray_write();
    try {
        gpulab::Stopwatch once;
        gpulab::testing::in_turn([&] { run(p, out, once); });
    } catch (const gpulab::WrongResult& e) {
        return e.what();
    }
    if (const std::string stray = gpulab::take_stray_write(); !stray.empty()) return stray;
    return judge();
}

/// What is wrong with a variant's sum or dot product of large arrays, or "". @param expected the exact number
template <class Run, class Problem> std::string large_fault(Run* run, const Problem& p, std::size_t expected) {
    Scalar<float> got(1, gpulab::poison_value<float>());
    return large_fault_of(run, p, got, [&]() -> std::string {
        if (got[0] == static_cast<float>(expected)) return "";
        return fmt::format("{} and not {}", got[0], expected);
    });
}

/// What is wrong with a variant's prefix sums of ones_apart(), or "". @param out space for them
inline std::string large_scan_fault(ScanRun<float>* run, const ScanProblem<float>& p, Prefixes<float>& out) {
    gpulab::testing::in_parts(out.size(), [&](std::size_t begin, std::size_t end) {
        std::fill(out.data() + begin, out.data() + end, gpulab::poison_value<float>());
    });
    return large_fault_of(run, p, out, [&]() -> std::string {
        std::atomic<std::size_t> wrong{out.size()};
        gpulab::testing::in_parts(out.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const std::size_t counted = p.kind == Scan::inclusive ? i + 1 : i; // elements in this sum
                if (out[i] != static_cast<float>(ones_among(counted))) return wrong.store(i);
            }
        });
        return wrong < out.size() ? fmt::format("prefix {} is {}", wrong.load(), out[wrong]) : "";
    });
}

} // namespace reduction::testing
