/// @file
/// The checks of more than 2^31 elements, that right and wrong kernels go through: an index or a count of 32 bits fails
/// here and nowhere else. The numbers are ones, far apart, among zeros: every sum of them is below 2^24, so that a
/// float holds it exactly, whatever the order of summation, and is known without a reference.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <thread>
#include <vector>

#include "dot.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/math.hpp"
#include "reduction.hpp"
#include "scan.hpp"

namespace reduction::testing {

/// More than 2^31, and no multiple of anything that a kernel rounds to.
inline constexpr std::size_t large = (std::size_t{1} << 31) + 5;

/// Every so many elements there is a one.
inline constexpr std::size_t apart = 251, other_apart = 7;

/// Whether device and host have the memory for two arrays of `large` floats.
inline bool room_for_large(const gpulab::Device& device) {
    return device.memory_bytes >= std::uint64_t{20} << 30 && gpulab::host_memory_bytes() >= std::uint64_t{30} << 30;
}

/// Calls `body(begin, end)` for the parts of 0 ... n - 1, on all CPU threads.
template <class Body> void in_parts(std::size_t n, const Body& body) {
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());
    const std::size_t part = gpulab::ceil_div(n, threads);
    std::vector<std::jthread> workers;
    for (std::size_t begin = 0; begin < n; begin += part)
        workers.emplace_back([&body, begin, end = std::min(n, begin + part)] { body(begin, end); });
}

/// `large` zeros with a one at every multiple of `step`.
inline std::vector<float> ones_apart(std::size_t step) {
    std::vector<float> a(large);
    for (std::size_t i = 0; i < large; i += step) a[i] = 1;
    return a;
}

/// Runs a variant once. @return a stray write, or what judge() says
template <class Run, class Problem, class Output, class Judge>
std::string large_fault_of(Run* run, const Problem& p, Output& out, const Judge& judge) {
    gpulab::take_stray_write();
    try {
        gpulab::Stopwatch once;
        run(p, out, once);
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

/// What is wrong with a variant's prefix sums of ones_apart(apart), or "". @param out space for them
inline std::string large_scan_fault(ScanRun<float>* run, const ScanProblem<float>& p, Prefixes<float>& out) {
    in_parts(out.size(), [&](std::size_t begin, std::size_t end) {
        std::fill(out.data() + begin, out.data() + end, gpulab::poison_value<float>());
    });
    return large_fault_of(run, p, out, [&]() -> std::string {
        std::atomic<std::size_t> wrong{large};
        in_parts(large, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                const std::size_t counted = p.kind == Scan::inclusive ? i + 1 : i; // elements in this sum
                if (out[i] != static_cast<float>(gpulab::ceil_div(counted, apart))) return wrong.store(i);
            }
        });
        return wrong < large ? fmt::format("prefix {} is {}", wrong.load(), out[wrong]) : "";
    });
}

} // namespace reduction::testing
