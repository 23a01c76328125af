/// @file
/// SAXPY with more elements than 32 bits can count. The numbers are small integers, so that the result is exact and
/// known without a reference. Their periods are odd, so that elements 2^31 or 2^32 apart differ.
#pragma once

#include <atomic>
#include <fmt/format.h>
#include <string>

#include "checks.hpp"
#include "gpulab_testing/large.hpp"

namespace saxpy::testing {

/// 3 a + b with n elements: a repeats 0 ... 8190, b repeats 0 ... 126.
inline Problem large_problem(std::size_t n) {
    Problem p{3, Output(n), Output(n)};
    gpulab::testing::in_parts(n, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            p.a[i] = static_cast<float>(i % 8191);
            p.b[i] = static_cast<float>(i % 127);
        }
    });
    return p;
}

/// What is wrong with a variant's answer to it, or "". @param c space for the answer
template <class AnyRun> std::string large_fault(const AnyRun& run, const Problem& p, Output& c) {
    gpulab::testing::in_parts(c.size(), [&](std::size_t begin, std::size_t end) {
        std::fill(c.data() + begin, c.data() + end, gpulab::poison_value<float>());
    });
    gpulab::take_stray_write();
    try {
        Stopwatch once;
        gpulab::testing::in_turn([&] { run(p, c, once); });
    } catch (const gpulab::WrongResult& e) {
        return e.what();
    }
    if (const std::string stray = gpulab::take_stray_write(); !stray.empty()) return stray;
    std::atomic<std::size_t> wrong{c.size()};
    gpulab::testing::in_parts(c.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            if (c[i] != p.k * static_cast<float>(i % 8191) + static_cast<float>(i % 127)) return wrong.store(i);
    });
    return wrong < c.size() ? fmt::format("element {} is {}", wrong.load(), c[wrong]) : "";
}

} // namespace saxpy::testing
