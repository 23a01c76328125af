/// @file
/// The systems of equations that solvers are tested with.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gpulab/input.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab_testing/testing.hpp"
#include "judge.hpp"

namespace cg::testing {

/// A system and what is special about it.
template <class T> struct Case {
    std::string name;
    Problem<T> problem;
};

/// The reference of a problem. Made once for all variants, parts and ways of sharing out: it takes five solutions.
/// Found again by hashes of all that make_reference() reads.
template <class T> const Reference& reference_of(const Problem<T>& p) {
    const auto hash = [](const auto& values) {
        const auto bytes = std::as_bytes(std::span(values));
        return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    };
    using Key = std::tuple<std::array<std::size_t, 6>, std::size_t, bool, bool, std::uint64_t>;
    static std::map<Key, Reference> made;
    const gpulab::Csr<T>& a = p.matrix;
    const Key key = {
        {hash(a.row_start), hash(a.column), hash(a.value), hash(p.b), hash(p.start), hash(p.inverse_diagonal)},
        p.limit,
        p.jacobi,
        p.steepest,
        std::bit_cast<std::uint64_t>(p.stop_at)};
    const auto [at, is_new] = made.try_emplace(key);
    if (is_new) at->second = make_reference(p);
    return at->second;
}

/// A matrix from entries on and above the diagonal, and those mirrored.
template <class T> class SymmetricMatrix {
public:
    explicit SymmetricMatrix(std::size_t n) { entries_.rows = entries_.columns = n; }
    void add(std::size_t i, std::size_t j, T value) {
        put(i, j, value);
        if (i != j) put(j, i, value);
    }
    gpulab::Csr<T> matrix() const { return gpulab::to_csr(entries_); }

private:
    void put(std::size_t i, std::size_t j, T value) {
        entries_.row.push_back(static_cast<std::int32_t>(i));
        entries_.column.push_back(static_cast<std::int32_t>(j));
        entries_.value.push_back(value);
    }
    gpulab::Coo<T> entries_;
};

/// Random entries anywhere, and a diagonal that exceeds their sum: rows of many lengths, neighbours far away.
template <class T> gpulab::Csr<T> random_spd(std::size_t n, std::size_t per_row) {
    SymmetricMatrix<T> m(n);
    std::vector<T> sum(n, T{1});
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t l = 0; l < per_row; ++l) {
            const std::size_t draw = i * per_row + l, j = gpulab::random_bits(7, draw) % n;
            if (j == i) continue;
            const T value = gpulab::random_between<T>(8, draw, T{-1}, T{1});
            m.add(i, j, value);
            sum[i] += std::abs(value);
            sum[j] += std::abs(value);
        }
    for (std::size_t i = 0; i < n; ++i) m.add(i, i, sum[i]);
    return m.matrix();
}

/// Row and column 0 full, otherwise a diagonal: one row as long as all others together.
template <class T> gpulab::Csr<T> arrow(std::size_t n) {
    SymmetricMatrix<T> m(n);
    m.add(0, 0, static_cast<T>(n));
    for (std::size_t i = 1; i < n; ++i) {
        m.add(0, i, T(0.5));
        m.add(i, i, static_cast<T>(1 + i % 3));
    }
    return m.matrix();
}

/// Row i is coupled with row n - 1 - i only: a + c = 4 on the diagonal and beside it, with several a. For a right-hand
/// side that is equal in both rows, b is an eigenvector: one iteration gives x = b / 4, without any rounding when b
/// holds small whole numbers.
template <class T> Problem<T> whole_numbers(std::size_t n) {
    SymmetricMatrix<T> m(n);
    std::vector<T> b(n);
    for (std::size_t i = 0; i < (n + 1) / 2; ++i) {
        const std::size_t j = n - 1 - i;
        b[i] = b[j] =
            static_cast<T>(1 + gpulab::random_bits(3, i) % 3) * (gpulab::random_bits(4, i) % 2 ? T{1} : T{-1});
        if (i == j) {
            m.add(i, i, 4);
            continue;
        }
        const T c = gpulab::random_bits(5, i) % 2 ? T{1} : T{-1};
        m.add(i, i, 4 - c);
        m.add(j, j, 4 - c);
        m.add(i, j, c);
    }
    Settings settings;
    settings.tolerance = 0;
    settings.limit = 5;
    return make_problem<T>(m.matrix(), b, {}, settings);
}

/// A chain whose diagonal differs from row to row by factors of up to 16, so that a row that takes the weight of
/// another one is seen. Diagonally dominant.
template <class T> gpulab::Csr<T> varied_chain(std::size_t n) {
    gpulab::Csr<T> m;
    m.rows = m.columns = n;
    for (std::size_t i = 0; i < n; ++i) {
        const auto put = [&](std::size_t j, T value) {
            m.column.push_back(static_cast<std::int32_t>(j));
            m.value.push_back(value);
        };
        if (i > 0) put(i - 1, -1);
        put(i, static_cast<T>(3 << gpulab::random_bits(9, i) % 5));
        if (i + 1 < n) put(i + 1, -1);
        m.row_start.push_back(static_cast<std::int64_t>(m.column.size()));
    }
    return m;
}

/// A system with a random right-hand side.
template <class T>
Case<T> system(const std::string& name, gpulab::Csr<T> matrix, const Settings& settings, bool start = false) {
    const std::size_t n = matrix.rows;
    return {name, make_problem<T>(std::move(matrix), gpulab::random_vector<T>(n, gpulab::testing::seed),
                                  start ? gpulab::random_vector<T>(n, gpulab::testing::seed + 1) : std::vector<T>(),
                                  settings)};
}

template <class T> Case<T> generated(const std::string& what, const Settings& settings = {}, bool start = false) {
    return system(what + (start ? ", from a random start" : ""),
                  gpulab::generate_matrix<T>(what, gpulab::testing::seed), settings, start);
}

/// What a rung gives, run once.
template <class T> Output<T> solved(const Problem<T>& p, std::string_view rung = "cpu_sequential") {
    Output<T> out;
    out.x.resize(p.n());
    Stopwatch once;
    gpulab::testing::in_turn([&] { gpulab::run_of(variants<T>(), rung)(p, out, once); });
    return out;
}

/// Settings in one line.
inline Settings settings(double tolerance, std::size_t limit, bool jacobi = false, bool steepest = false) {
    Settings s;
    s.tolerance = tolerance;
    s.limit = limit;
    s.jacobi = jacobi;
    s.steepest = steepest;
    return s;
}

/// Chains with these numbers of rows, a few iterations each: sizes at which something is cut.
template <class T> std::vector<Case<T>> chains(const std::vector<std::size_t>& sizes, std::size_t iterations = 4) {
    std::vector<Case<T>> cases;
    for (const std::size_t n : sizes)
        cases.push_back(n == 0 ? system<T>("no rows", {}, settings(1e-6, 4))
                               : generated<T>(fmt::format("stiffness:{}", n), settings(0, iterations), true));
    return cases;
}

/// Every kind of matrix and every setting.
template <class T> std::vector<Case<T>> all_systems() {
    const double small = sizeof(T) == 8 ? 1e-10 : 1e-5;
    std::vector<Case<T>> cases;
    cases.push_back(generated<T>("laplace2d:17x23", settings(small, 1000)));
    cases.push_back(generated<T>("laplace2d:17x23", settings(small, 1000), true));
    cases.push_back(generated<T>("laplace2d:40", settings(0, 12)));
    cases.push_back(generated<T>("laplace3d:7x8x9", settings(small, 1000), true));
    cases.push_back(generated<T>("springs:9x5", settings(small, 1000, true)));
    cases.push_back(generated<T>("springs:3x4x5", settings(small, 1000, true), true));
    cases.push_back(system<T>("random", random_spd<T>(500, 6), settings(small, 200), true));
    cases.push_back(system<T>("random, Jacobi", random_spd<T>(333, 3), settings(small, 200, true), true));
    cases.push_back(system<T>("arrow", arrow<T>(700), settings(small, 50)));
    cases.push_back(system<T>("arrow, Jacobi", arrow<T>(701), settings(small, 50, true)));
    cases.push_back(generated<T>("laplace2d:11", settings(1e-3, 2000, false, /*steepest=*/true), true));
    cases.push_back(generated<T>("springs:5x5", settings(0, 20, true, /*steepest=*/true)));
    cases.push_back(generated<T>("laplace2d:20", settings(1e-30, 1))); // one iteration
    Settings absolute = settings(0.25, 1000);
    absolute.absolute = true;
    cases.push_back(generated<T>("laplace2d:13", absolute));
    return cases;
}

/// A tiny one of each kind, for tools that take long.
template <class T> std::vector<Case<T>> tiny_systems() {
    std::vector<Case<T>> cases;
    cases.push_back(generated<T>("laplace2d:5x7", settings(0, 2), true));
    cases.push_back(system<T>("random, Jacobi", random_spd<T>(40, 2), settings(0, 1, true), true));
    return cases;
}

/// A file with the matrix 1e-310: alpha is infinite in the first iteration.
inline const char* const overflowing_matrix =
    "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1e-310\n2 2 1e-310\n";

/// A file with a matrix so small that p . A p becomes zero when the residual is nothing but rounding.
inline std::string exhausting_matrix() {
    gpulab::Csr<double> a = gpulab::generate_matrix<double>("laplace2d:9x7", gpulab::testing::seed);
    for (double& value : a.value) value *= 1e-150;
    return gpulab::to_matrix_market(a);
}

/// Iterations that end in a way of their own, with what must come out.
template <class T> struct Ending {
    Case<T> system;
    End end;
    std::size_t iterations;
    double curvature = 0; ///< p . A p where the end is not_positive
};
template <class T> std::vector<Ending<T>> endings() {
    std::vector<Ending<T>> list;
    const auto diagonal = [](const std::vector<T>& values) {
        SymmetricMatrix<T> m(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) m.add(i, i, values[i]);
        return m.matrix();
    };
    const auto add = [&](const std::string& name, gpulab::Csr<T> a, std::vector<T> b, std::vector<T> start, Settings s,
                         End end, std::size_t iterations, double curvature = 0) {
        list.push_back(
            {{name, make_problem<T>(std::move(a), std::move(b), std::move(start), s)}, end, iterations, curvature});
    };
    std::vector<T> ones(50, T{1}), zeros(50, T{0}), mixed(50, T{2});
    mixed[33] = -100;
    add("the start is the solution", diagonal(mixed), mixed, ones, settings(1e-6, 10), End::converged, 0);
    add("b is zero", diagonal(mixed), zeros, zeros, settings(1e-6, 10), End::converged, 0);
    add("negative definite", diagonal(std::vector<T>(50, T{-1})), ones, zeros, settings(1e-6, 10), End::not_positive, 0,
        -50);
    add("indefinite", diagonal(mixed), ones, zeros, settings(1e-6, 10), End::not_positive, 0, 49 * 2 - 100);
    // Positive along b, and negative along the direction that follows.
    std::vector<T> bend(50, T{1});
    bend[0] = T(-0.5);
    // r and p have the same number in all elements but the first: r = 1 - alpha a and p = r + beta.
    const double alpha = 50 / 48.5, of_first = 1 + alpha / 2, of_others = 1 - alpha;
    const double beta = (of_first * of_first + 49 * of_others * of_others) / 50;
    add("indefinite along the second direction", diagonal(bend), ones, zeros, settings(1e-6, 10), End::not_positive, 1,
        49 * (of_others + beta) * (of_others + beta) - (of_first + beta) * (of_first + beta) / 2);
    // The same for a system that is worth several threads: its sum is exact.
    std::vector<T> many(40'000, T{-1}), many_ones(40'000, T{1});
    add("negative definite, 40000 rows", diagonal(many), many_ones, {}, settings(1e-6, 10), End::not_positive, 0,
        -40'000);
    add("all of its iterations", gpulab::stiffness<T>(50, 1), ones, zeros, settings(0, 7), End::limit, 7);
    add("one unknown", diagonal({T{3}}), {T{6}}, {T{0}}, settings(1e-6, 10), End::converged, 1);
    if constexpr (sizeof(T) == 8) {
        // A is 2^-940 times the identity, but for the last bit of one element. All sums are exact: alpha is 2^940, and
        // the residual is 2^-52 in one element, which is rounding only. The next p . q is 2^-1044, below the normal
        // numbers.
        std::vector<T> tiny(50, std::ldexp(T{1}, -940));
        tiny[33] *= 1 + std::numeric_limits<T>::epsilon();
        add("p . q loses its digits", diagonal(tiny), ones, zeros, settings(1e-300, 10), End::exhausted, 1);
    }
    return list;
}

} // namespace cg::testing
