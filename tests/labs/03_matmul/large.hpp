/// @file
/// The check of products with more elements than 32 bits count: a reference of 17 GB would take minutes, so the sums
/// have one product each, and all threads judge them against it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <string>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/math.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab_testing/large.hpp"
#include "matmul.hpp"

namespace matmul::testing {

/// Calls `body(row)` for every row of C, on all CPU threads.
template <class Body> void each_row(std::size_t rows, const Body& body) {
    std::atomic<std::size_t> next{0};
    gpulab::Threads workers;
    for (unsigned t = 0; t < std::max(1u, static_cast<unsigned>(gpulab::hardware_threads())); ++t)
        workers.start([&] {
            for (std::size_t i = next++; i < rows; i = next++) body(i);
        });
}

/// Which matrix is the large one.
enum class Large { a, b, c };

/// Column of A, and row of B, that holds the one non-zero of row i of A, or of column i of B where B is large.
inline std::size_t place(std::size_t i, std::size_t k) { return 7 * i % k; }

/// A product of whole numbers in which one matrix has more than `elements` elements. Each element of C is one product
/// and therefore known without a reference: each row of A (column of B where that is large) has one non-zero.
/// @param elements gpulab::testing::beyond_int or beyond_unsigned
/// @param in_eights whether the rows of A, B and C are multiples of 32 bytes long, so that kernels move them in vectors
inline Problem<float> large_problem(Large matrix, std::size_t elements, bool in_eights) {
    const std::size_t most = in_eights ? 65544 : 65537; // more than a grid has blocks along y
    const std::size_t other = gpulab::round_up(gpulab::ceil_div(elements, most), 8) + (in_eights ? 8 : 3);
    const std::size_t few = in_eights ? 8 : 1;
    Problem<float> p;
    if (matrix == Large::a) p = {most, other, few, {}, {}};
    else if (matrix == Large::b) p = {1, other, most, {}, {}};
    else p = {most, few, other, {}, {}};
    p.a.resize(p.m * p.k);
    p.b.resize(p.k * p.n);
    const auto whole = [](std::size_t i) { return static_cast<float>(1 + i % 5); };
    if (matrix == Large::b) {
        for (std::size_t l = 0; l < p.k; ++l) p.a[l] = whole(l);
        for (std::size_t j = 0; j < p.n; ++j) p.b[place(j, p.k) * p.n + j] = whole(j + 2);
    } else {
        for (std::size_t i = 0; i < p.m; ++i) p.a[i * p.k + place(i, p.k)] = whole(i + 2);
        for (std::size_t i = 0; i < p.b.size(); ++i) p.b[i] = whole(i);
    }
    return p;
}

/// Element (i, j) of such a product.
inline float large_element(const Problem<float>& p, Large matrix, std::size_t i, std::size_t j) {
    const std::size_t l = place(matrix == Large::b ? j : i, p.k);
    return p.a[i * p.k + l] * p.b[l * p.n + j];
}

/// What is wrong with a variant's answer to such a product, or "".
template <class RunLike>
std::string large_fault(const RunLike& run, const Problem<float>& p, Large matrix, Output<float>& c) {
    const auto row = [&](std::size_t i) { return c.begin() + static_cast<std::ptrdiff_t>(i * p.n); };
    each_row(p.m, [&](std::size_t i) { std::fill_n(row(i), p.n, gpulab::poison_value<float>()); });
    gpulab::take_stray_write();
    try {
        gpulab::Stopwatch once;
        gpulab::testing::in_turn([&] { run(p, c, once); });
    } catch (const gpulab::WrongResult& e) {
        return e.what();
    }
    if (const std::string stray = gpulab::take_stray_write(); !stray.empty()) return stray;
    std::atomic<std::size_t> worst{p.m};
    each_row(p.m, [&](std::size_t i) {
        const float* const got = c.data() + i * p.n;
        for (std::size_t j = 0; j < p.n; ++j)
            if (got[j] != large_element(p, matrix, i, j)) return worst.store(i);
    });
    return worst < p.m ? fmt::format("row {} of {} is wrong", worst.load(), p.m) : "";
}

} // namespace matmul::testing
