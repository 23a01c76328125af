/// @file
/// The checks that right and wrong solvers go through.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checks.hpp"
#include "solve.hpp"

namespace lu::testing {

/// A solver under test.
struct Solver {
    std::function<SolveRun> run;
    Backend backend = Backend::cpu;
    bool refined = false;
    bool baseline = false;
    std::vector<gpulab::Tile> tiles = {};
};

/// A system of small whole numbers whose solution is exact in every step: L of quarters and U of whole numbers, few of
/// them, powers of two on the diagonal. @param power the matrix is multiplied by 2^power
inline SolveProblem exact_system(std::size_t n, std::size_t count, Solution& x, int power = 0) {
    Factors f = exact_factors(n, true, n, gpulab::testing::seed + n);
    // Off the diagonal only next to it and in the first column: a full triangle would need more digits than there are.
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            if (i != j && i != j + 1 && j != i + 1 && (j != 0 || i % 3 != 0)) f.lu[i * n + j] = 0;
    x.resize(n * count);
    constexpr double whole[] = {-3, -2, -1, 1, 2, 3};
    for (std::size_t e = 0; e < x.size(); ++e) x[e] = pick(whole, gpulab::testing::seed, e);
    f = scaled(std::move(f), power);
    const Problem p = problem_of(f);
    std::vector<double> b(n * count);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t c = 0; c < count; ++c) b[i * count + c] += p.a[i * n + j] * x[j * count + c];
    return make_solve_problem(p, f, std::move(b), count);
}

/// Exact and random systems of one size.
inline std::string fault_of(const Solver& solver, std::size_t n, std::size_t count) {
    Solution expected, x(n * count);
    const SolveProblem exact = exact_system(n, count, expected);
    std::string fault = gpulab::testing::fault_of(solver.run, exact, x, [&] {
        return solver.baseline ? compare(exact, x, solver.refined) : gpulab::compare(expected, x, 0);
    });
    if (fault.empty()) {
        const SolveProblem random =
            make_solve_problem(make_problem(n, gpulab::testing::seed + n), count, gpulab::testing::seed + 1);
        fault = gpulab::testing::fault_of(solver.run, random, x, [&] { return compare(random, x, solver.refined); });
    }
    return fault.empty() ? "" : fmt::format("n = {}, {} right-hand sides: {}", n, count, fault);
}

/// The numbers of an n x count array without one of its columns.
inline std::vector<double> without_column(const std::vector<double>& a, std::size_t count, std::size_t column) {
    std::vector<double> rest;
    for (std::size_t e = 0; e < a.size(); ++e)
        if (e % count != column) rest.push_back(a[e]);
    return rest;
}

/// Options crossed with each other: size, right-hand sides, the kind of system, the scale of B, and NaN in one of the
/// right-hand sides, which must not change the others.
inline std::string pairs_fault(const Solver& solver) {
    if (solver.baseline) return "";
    const std::vector<std::size_t> sizes = {1, 2, 33, 70, 129}, counts = {1, 2, 33, 70};
    const std::vector<int> powers = {0, -400, 400};
    enum class Kind { exact, random, growth };
    const std::vector<std::string_view> kinds = {"whole numbers", "random numbers", "factors without pivoting"};
    for (const auto& row :
         gpulab::testing::all_pairs({sizes.size(), counts.size(), kinds.size(), powers.size(), std::size_t{3}})) {
        const std::size_t n = sizes[row[0]], count = counts[row[1]];
        const auto kind = static_cast<Kind>(row[2]);
        Solution expected, x(n * count);
        SolveProblem p;
        if (kind == Kind::exact) {
            p = exact_system(n, count, expected);
        } else if (kind == Kind::random || !solver.refined) {
            p = make_solve_problem(make_problem(n, gpulab::testing::seed + n), count, gpulab::testing::seed + 1);
        } else { // a growth of about 10^6, which only a refinement makes up for
            Problem a = make_problem(n, 8);
            a.a[0] = 1e-6;
            Factors f(n);
            Stopwatch once;
            gpulab::run_of(variants(), "cpu_blocked")(a, f, once);
            p = make_solve_problem(a, f, gpulab::random_vector<double>(n * count, 5), count);
        }
        for (double& b : p.b) b = std::ldexp(b, powers[row[3]]);
        for (double& e : expected) e = std::ldexp(e, powers[row[3]]);
        SolveProblem rest = p; // what must be right
        const std::size_t nan = std::array{count, std::size_t{0}, count - 1}[row[4]];
        if (nan < count) {
            p.b[n / 2 * count + nan] = std::numeric_limits<double>::quiet_NaN();
            rest.b = without_column(p.b, count, nan);
            --rest.count;
        }
        const std::string fault = gpulab::testing::fault_of(solver.run, p, x, [&] {
            gpulab::Comparison c;
            c.passed = true;
            if (rest.count == 0) return c;
            const Solution of_rest = nan < count ? without_column(x, count, nan) : x;
            return kind == Kind::exact
                       ? gpulab::compare(nan < count ? without_column(expected, count, nan) : expected, of_rest, 0)
                       : compare(rest, of_rest, solver.refined);
        });
        if (!fault.empty())
            return fmt::format("n = {}, {} right-hand sides, {}, B times 2^{}{}: {}", n, count, kinds[row[2]],
                               powers[row[3]], nan < count ? fmt::format(", NaN in column {}", nan) : "", fault);
    }
    return "";
}

/// A check and its name.
struct SolverCheck {
    std::string_view name;
    std::string (*fault)(Solver& solver);
};

inline const std::vector<SolverCheck>& solver_checks() {
    static const std::vector<SolverCheck> all = {
        {"3 x 3 by hand",
         [](Solver& solver) { // L U = (4 2 8; 2 3 8; 1 1.5 7), its rows in the order 2, 0, 1
             const Problem p{3, {2, 3, 8, 1, 1.5, 7, 4, 2, 8}};
             const Factors f = factors_of(3, {4, 2, 8, 0.5, 2, 4, 0.25, 0.5, 3}, {2, 2, 2});
             const SolveProblem s = make_solve_problem(p, f, {13, 9.5, 14}, 1); // X = (1, 1, 1)
             Solution x(3);
             return gpulab::testing::fault_of(solver.run, s, x, [&] {
                 return gpulab::compare(Solution{1, 1, 1}, x, 1e-15);
             });
         }},
        {"every size",
         [](Solver& solver) {
             for (const std::size_t n : {1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 129, 200})
                 for (const std::size_t count : {1, 2, 33})
                     if (const std::string fault = fault_of(solver, n, count); !fault.empty()) return fault;
             return std::string();
         }},
        {"contract",
         [](Solver& solver) {
             Solution expected, x(33 * 2);
             Stopwatch once;
             gpulab::testing::in_turn([&] { solver.run(exact_system(33, 2, expected), x, once); });
             solver.tiles = once.tiles();
             return gpulab::testing::contract_violation(solver.backend, solver.baseline, once,
                                                        {"elements", "right-hand sides"});
         }},
        {"sizes next to its tiles",
         [](Solver& solver) {
             for (const std::size_t n : gpulab::testing::sizes_next_to(solver.tiles, 100))
                 if (n > 0 && n < 300)
                     if (const std::string fault = fault_of(solver, n, 3); !fault.empty()) return fault;
             return std::string();
         }},
        {"right-hand sides next to its tiles",
         [](Solver& solver) {
             for (const std::size_t count : gpulab::testing::sizes_next_to(solver.tiles, 100, "right-hand sides"))
                 if (count > 0 && count < 300)
                     if (const std::string fault = fault_of(solver, 70, count); !fault.empty()) return fault;
             return std::string();
         }},
        // 65536 elements for each of two threads, behind the first block of 64 unknowns
        {"work for several threads", [](Solver& solver) { return fault_of(solver, 160, 1500); }},
        {"special matrices",
         [](Solver& solver) { // ill-conditioned: the residual is small all the same
             const SolveProblem hilbert10 = make_solve_problem(hilbert(10), 2, gpulab::testing::seed);
             Solution x(20);
             return gpulab::testing::fault_of(solver.run, hilbert10, x,
                                              [&] { return compare(hilbert10, x, solver.refined); });
         }},
        {"a refinement that refines",
         // Factors with a growth of about 10^8, because their pivots are not the largest. One step squares the error,
         // to
         // about a hundredth of what is allowed; with 10^9 it would be what is allowed.
         [](Solver& solver) {
             if (!solver.refined) return std::string();
             Problem p = make_problem(100, 8);
             p.a[0] = 1e-8;
             Factors f(p.n);
             Stopwatch once;
             gpulab::run_of(variants(), "cpu_blocked")(p, f, once);
             for (const bool exchanged : {false, true}) {
                 // The same factors, of a matrix with its rows in another order.
                 for (std::size_t k = p.n; exchanged && k-- > 0;) {
                     f.pivots[k] = static_cast<std::int32_t>(k + 7 * k % (p.n - k));
                     const auto row = p.a.begin() + static_cast<std::ptrdiff_t>(k * p.n);
                     const auto other =
                         p.a.begin() + static_cast<std::ptrdiff_t>(f.pivots[k]) * static_cast<std::ptrdiff_t>(p.n);
                     if (row != other) std::swap_ranges(row, row + static_cast<std::ptrdiff_t>(p.n), other);
                 }
                 const SolveProblem s = make_solve_problem(p, f, gpulab::random_vector<double>(p.n * 2, 5), 2);
                 Solution x(p.n * 2);
                 const std::string fault =
                     gpulab::testing::fault_of(solver.run, s, x, [&] { return compare(s, x, true); });
                 if (!fault.empty()) return (exchanged ? "rows exchanged: " : "") + fault;
             }
             return std::string();
         }},
        {"tiny pivots",
         [](Solver& solver) { // below 1e-308: their reciprocal is infinite
             if (solver.baseline) return std::string();
             for (const std::size_t n : {1, 40, 130}) {
                 Solution expected, x(n * 3);
                 const SolveProblem p = exact_system(n, 3, expected, -1040);
                 const std::string fault =
                     gpulab::testing::fault_of(solver.run, p, x, [&] { return gpulab::compare(expected, x, 0); });
                 if (!fault.empty()) return fmt::format("n = {}: {}", n, fault);
             }
             return std::string();
         }},
        {"options in pairs", [](Solver& solver) { return pairs_fault(solver); }},
        {"NaN stays in its right-hand side",
         [](Solver& solver) {
             if (solver.baseline) return std::string();
             Solution expected, x(70 * 3);
             SolveProblem p = exact_system(70, 3, expected);
             p.b[20 * 3 + 1] = std::numeric_limits<double>::quiet_NaN();
             Stopwatch once;
             gpulab::poison(x);
             gpulab::testing::in_turn([&] { solver.run(p, x, once); });
             bool nan = false;
             for (std::size_t e = 0; e < x.size(); ++e) {
                 if (e % 3 == 1) nan = nan || std::isnan(x[e]);
                 else if (x[e] != expected[e]) return fmt::format("element {} is {}, not {}", e, x[e], expected[e]);
             }
             return std::string(nan ? "" : "it is lost");
         }},
    };
    return all;
}

} // namespace lu::testing
