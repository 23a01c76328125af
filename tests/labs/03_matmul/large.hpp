/// @file
/// The check of products with more than 2^31 elements: a reference of 8 GB would take minutes, so the sums have one
/// product each, and all threads judge them against it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <thread>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/guard.hpp"
#include "matmul.hpp"

namespace matmul::testing {

/// Whether device and host have the memory for products of 2^31 floats.
inline bool room_for_large(const gpulab::Device& device) {
    return device.memory_bytes >= std::uint64_t{20} << 30 && gpulab::host_memory_bytes() >= std::uint64_t{30} << 30;
}

/// Calls `body(row)` for every row of C, on all CPU threads.
template <class Body> void each_row(std::size_t rows, const Body& body) {
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < std::max(1u, static_cast<unsigned>(gpulab::hardware_threads())); ++t)
        workers.emplace_back([&] {
            for (std::size_t i = next++; i < rows; i = next++) body(i);
        });
}

/// What is wrong with a variant's product of a column by a row (k = 1) of whole numbers, or "".
template <class RunLike>
std::string fault_of_outer_product(const RunLike& run, const Problem<float>& p, Output<float>& c) {
    const auto row = [&](std::size_t i) { return c.begin() + static_cast<std::ptrdiff_t>(i * p.n); };
    each_row(p.m, [&](std::size_t i) { std::fill_n(row(i), p.n, gpulab::poison_value<float>()); });
    gpulab::take_stray_write();
    try {
        gpulab::Stopwatch once;
        run(p, c, once);
    } catch (const gpulab::WrongResult& e) {
        return e.what();
    }
    if (const std::string stray = gpulab::take_stray_write(); !stray.empty()) return stray;
    std::atomic<std::size_t> worst{p.m};
    each_row(p.m, [&](std::size_t i) {
        const float* const got = c.data() + i * p.n;
        for (std::size_t j = 0; j < p.n; ++j)
            if (got[j] != p.a[i] * p.b[j]) return worst.store(i);
    });
    return worst < p.m ? fmt::format("row {} of {} is wrong", worst.load(), p.m) : "";
}

} // namespace matmul::testing
