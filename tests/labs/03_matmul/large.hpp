/// @file
/// The check of products with more elements than 32 bits count: a reference of 17 GB would take minutes, so the sums
/// have one product each, and all threads judge them against it.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>

#include "gpulab/math.hpp"
#include "gpulab_testing/large_cases.hpp"
#include "matmul.hpp"
#include "special.hpp"

namespace matmul::testing {

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
    gpulab::Stopwatch once;
    if (std::string stray = stray_write(run, p, c, once); !stray.empty()) return stray;
    const auto right = [&](std::size_t i) {
        for (std::size_t j = 0; j < p.n; ++j)
            if (c[i * p.n + j] != large_element(p, matrix, i, j)) return false;
        return true;
    };
    const std::size_t wrong = wrong_among(p.m, right, 1);
    return wrong < p.m ? fmt::format("row {} of {} is wrong", wrong, p.m) : "";
}

} // namespace matmul::testing
