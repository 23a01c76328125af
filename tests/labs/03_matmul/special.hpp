/// @file
/// Matrix products with special values: NaN, infinities, zeros that meet them, denormals. Their finite numbers are
/// small whole numbers, so that every right answer is exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gpulab/input.hpp"
#include "gpulab_testing/steps.hpp"
#include "matmul.hpp"

namespace matmul::testing {

using namespace gpulab::testing;

/// The sizes of one product.
struct Shape {
    std::size_t m, k, n;
};

/// A variant, or a kernel of a study with its tile chosen.
template <class T> using AnyRun = std::function<Run<T>>;

/// What a variant can take exactly.
struct Exact {
    int bits = 64;               ///< the significant bits of an element; small whole numbers are always exact
    bool infinities = true;      ///< else a sum with an infinity is NaN
    bool denormal_inputs = true; ///< else only sums may be denormal
    int least = std::numeric_limits<int>::min(); ///< elements are multiples of 2^least
};

/// One of -2 ... 2.
template <class T> T whole_number(std::uint64_t seed, std::size_t i) {
    return static_cast<T>(static_cast<int>(gpulab::random_bits(seed, i) % 5) - 2);
}

/// NaN, infinity and minus infinity in turn.
template <class T> T special_value(std::size_t i) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return i % 3 == 0 ? std::numeric_limits<T>::quiet_NaN() : i % 3 == 1 ? infinity : -infinity;
}

/// The product as its definition says, with no product left out; the sums in double.
template <class T> Output<T> exact_product(const Problem<T>& p) {
    Output<T> c(p.size());
    std::vector<double> sum(p.n);
    for (std::size_t i = 0; i < p.m; ++i) {
        std::fill(sum.begin(), sum.end(), 0.0);
        for (std::size_t l = 0; l < p.k; ++l) {
            const auto factor = static_cast<double>(p.a[i * p.k + l]);
            for (std::size_t j = 0; j < p.n; ++j) sum[j] += factor * static_cast<double>(p.b[l * p.n + j]);
        }
        for (std::size_t j = 0; j < p.n; ++j) c[i * p.n + j] = static_cast<T>(sum[j]);
    }
    return c;
}

/// A problem whose elements are given by functions of (row, column).
template <class T, class A, class B> Problem<T> problem_of(const Shape& s, const A& a, const B& b) {
    Problem<T> p{s.m, s.k, s.n, std::vector<T>(s.m * s.k), std::vector<T>(s.k * s.n)};
    for (std::size_t i = 0; i < s.m; ++i)
        for (std::size_t l = 0; l < s.k; ++l) p.a[i * s.k + l] = a(i, l);
    for (std::size_t l = 0; l < s.k; ++l)
        for (std::size_t j = 0; j < s.n; ++j) p.b[l * s.n + j] = b(l, j);
    return p;
}

/// Runs a variant on a problem with an exact answer.
/// @param what the problem in a few words
/// @return what is wrong, or ""
template <class T>
std::string exact_fault(const AnyRun<T>& run, const Exact& exact, const Problem<T>& p, const std::string& what) {
    Output<T> expected = exact_product(p);
    if (!exact.infinities)
        for (T& x : expected)
            if (std::isinf(x)) x = std::numeric_limits<T>::quiet_NaN();
    Output<T> c(p.size());
    Stopwatch once;
    std::string fault = stray_write(run, p, c, once);
    if (fault.empty()) fault = special_fault(expected, c);
    return fault.empty() ? "" : fmt::format("{} x {} x {}, {}: {}", p.m, p.k, p.n, what, fault);
}

/// Element (row, column) of a matrix of whole numbers.
template <class T> T whole_at(std::uint64_t salt, std::size_t row, std::size_t column) {
    return whole_number<T>(seed + salt, row * 4099 + column);
}

/// x without its significant bits after this many, and without those below 2^least.
template <class T> T with_bits(T x, int bits, int least = std::numeric_limits<int>::min()) {
    if (x == 0 || bits >= std::numeric_limits<T>::digits) return x;
    least = std::max(std::ilogb(x) - bits + 1, least);
    return std::ldexp(std::trunc(std::ldexp(x, -least)), least);
}

/// A random matrix times the identity is that matrix, to the last bit.
template <class T> std::string identity_fault(const AnyRun<T>& run, const Exact& exact, const Shape& s) {
    const auto random_of = [&](std::size_t n) {
        std::vector<T> all = gpulab::random_vector<T>(n, seed);
        for (T& x : all) x = with_bits(x, exact.bits, exact.least);
        return all;
    };
    const std::vector<T> random = random_of(s.m * s.k);
    const Problem<T> right = problem_of<T>(
        s, [&](std::size_t i, std::size_t l) { return random[i * s.k + l]; },
        [](std::size_t l, std::size_t j) { return l == j ? T{1} : T{0}; });
    const std::string fault = exact_fault<T>(run, exact, right, "B the identity");
    if (!fault.empty()) return fault;
    const std::vector<T> other = random_of(s.k * s.n);
    const Problem<T> left = problem_of<T>(
        s, [](std::size_t i, std::size_t l) { return i == l ? T{1} : T{0}; },
        [&](std::size_t l, std::size_t j) { return other[l * s.n + j]; });
    return exact_fault<T>(run, exact, left, "A the identity");
}

/// Zeros in one matrix and, in the other, one NaN or infinity in each column (row) that meets them. 0 times any of them
/// is NaN, so a kernel may not leave out products because one, or four, or a tile of its numbers are all 0.
template <class T> std::string zeros_fault(const AnyRun<T>& run, const Exact& exact, const Shape& s) {
    struct Zeros {
        const char* what;
        bool (*here)(std::size_t row, std::size_t column);
    };
    static constexpr Zeros patterns[] = {
        {"all 0", [](std::size_t, std::size_t) { return true; }},
        {"every other four rows 0", [](std::size_t row, std::size_t) { return row / 4 % 2 == 0; }},
        {"every other four columns 0", [](std::size_t, std::size_t column) { return column / 4 % 2 == 0; }},
        {"squares of 16 x 16 all 0",
         [](std::size_t row, std::size_t column) { return (row / 16 + column / 16) % 2 == 0; }},
    };
    return first_in(patterns, [&](const Zeros& zeros) {
        const auto with_zeros = [&](std::size_t row, std::size_t column) {
            return zeros.here(row, column) ? T{0} : whole_at<T>(1, row, column);
        };
        const Problem<T> in_a = problem_of<T>(s, with_zeros, [&](std::size_t l, std::size_t j) {
            return l == 7 * j % s.k ? special_value<T>(j) : whole_at<T>(2, l, j);
        });
        const std::string fault = exact_fault<T>(run, exact, in_a, std::string("A ") + zeros.what);
        const Problem<T> in_b = problem_of<T>(
            s,
            [&](std::size_t i, std::size_t l) { return l == 7 * i % s.k ? special_value<T>(i) : whole_at<T>(3, i, l); },
            with_zeros);
        return fault.empty() ? exact_fault<T>(run, exact, in_b, std::string("B ") + zeros.what) : fault;
    });
}

/// NaN and infinities in every place, column by column of A and, at the same time, row by row of B; but in every other
/// row of A and every other column of B only. What is not a number may not reach its neighbours, nor be lost.
template <class T> std::string edges_fault(const AnyRun<T>& run, const Exact& exact, const Shape& s) {
    for (std::size_t place = 0; place < s.k; ++place)
        for (const std::size_t parity : {0, 1}) {
            const std::size_t in_a = place, in_b = s.k - 1 - place;
            const Problem<T> p = problem_of<T>(
                s,
                [&](std::size_t i, std::size_t l) {
                    return l == in_a && i % 2 == parity ? special_value<T>(i / 2) : whole_at<T>(1, i, l);
                },
                [&](std::size_t l, std::size_t j) {
                    return l == in_b && j % 2 == parity ? special_value<T>(j / 2) : whole_at<T>(2, l, j);
                });
            const std::string fault = exact_fault<T>(
                run, exact, p, fmt::format("NaN and infinities in column {} of A and row {} of B", in_a, in_b));
            if (!fault.empty()) return fault;
        }
    return "";
}

/// Products that are whole multiples of the smallest denormal number: denormals in A, in B, and in neither.
template <class T> std::string denormals_fault(const AnyRun<T>& run, const Exact& exact, const Shape& s) {
    const int least = std::max(exact.least, std::ilogb(std::numeric_limits<T>::denorm_min()));
    for (const int of_a : {least, 0, least / 2}) {
        if (!exact.denormal_inputs && of_a != least / 2) continue;
        const T a_unit = std::ldexp(T{1}, of_a), b_unit = std::ldexp(T{1}, least - of_a);
        const Problem<T> p = problem_of<T>(
            s, [&](std::size_t i, std::size_t l) { return a_unit * whole_at<T>(1, i, l); },
            [&](std::size_t l, std::size_t j) { return b_unit * whole_at<T>(2, l, j); });
        const std::string fault = exact_fault<T>(run, exact, p, fmt::format("A in units of 2^{}", of_a));
        if (!fault.empty()) return fault;
    }
    return "";
}

} // namespace matmul::testing
