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
    Factors f = exact_factors(n, true, n, seed + n);
    // Off the diagonal only next to it and in the first column: a full triangle would need more digits than there are.
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            if (i != j && i != j + 1 && j != i + 1 && (j != 0 || i % 3 != 0)) f.lu[i * n + j] = 0;
    x.resize(n * count);
    constexpr double whole[] = {-3, -2, -1, 1, 2, 3};
    for (std::size_t e = 0; e < x.size(); ++e) x[e] = pick(whole, seed, e);
    f = scaled(std::move(f), power);
    const Problem p = problem_of(f);
    std::vector<double> b(n * count);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t c = 0; c < count; ++c) b[i * count + c] += p.a[i * n + j] * x[j * count + c];
    return make_solve_problem(p, f, std::move(b), count);
}

/// A matrix whose first pivot is small, with its factors without pivoting: they grow to about its reciprocal, which
/// only a refinement makes up for.
inline Example growing(std::size_t n, double first_pivot) {
    Problem p = make_problem(n, 8);
    p.a[0] = first_pivot;
    Factors f = factorised_by(gpulab::run_of(variants(), "cpu_blocked"), p);
    return {std::move(p), std::move(f)};
}

/// What a solver gives, run once.
inline Solution solved_by(const std::function<SolveRun>& run, const SolveProblem& p) {
    Solution x(p.n * p.count);
    Stopwatch once;
    run(p, x, once);
    return x;
}

/// What is wrong with a solution, which must have a small residual, or "".
inline std::string residual_fault(const Solver& solver, const SolveProblem& p) {
    Solution x(p.n * p.count);
    return gpulab::testing::fault_of(solver.run, p, x, [&] { return compare(p, x, solver.refined); });
}

/// What is wrong with the solution of an exact system, or "". @param power see exact_system()
inline std::string exact_fault(const Solver& solver, std::size_t n, std::size_t count, int power = 0) {
    Solution expected, x(n * count);
    const SolveProblem p = exact_system(n, count, expected, power);
    if (solver.baseline) return residual_fault(solver, p);
    return gpulab::testing::fault_of(solver.run, p, x, [&] { return gpulab::compare(expected, x, 0); });
}

/// Exact and random systems of these sizes.
inline std::string fault_of(const Solver& solver, const std::vector<std::size_t>& sizes,
                            const std::vector<std::size_t>& counts) {
    for (const std::size_t n : sizes)
        for (const std::size_t count : counts) {
            std::string fault = exact_fault(solver, n, count);
            if (fault.empty())
                fault = residual_fault(solver, make_solve_problem(make_problem(n, seed + n), count, seed + 1));
            if (!fault.empty()) return fmt::format("n = {}, {} right-hand sides: {}", n, count, fault);
        }
    return "";
}

/// The sizes next to the tiles that a solver names, in this unit.
inline std::vector<std::size_t> sizes_next_to(const Solver& solver, std::string_view of) {
    std::vector<std::size_t> sizes = gpulab::testing::sizes_next_to(solver.tiles, 100, of);
    std::erase_if(sizes, [](std::size_t n) { return n == 0 || n >= 300; });
    return sizes;
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
            p = make_solve_problem(make_problem(n, seed + n), count, seed + 1);
        } else {
            const Example e = growing(n, 1e-6);
            p = make_solve_problem(e.problem, e.factors, gpulab::random_vector<double>(n * count, 5), count);
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
            if (rest.count == 0) return verdict("");
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

/// Factors with a growth of about 10^8, because their pivots are not the largest. One step of refinement squares the
/// error, to about a hundredth of what is allowed; with 10^9 it would be what is allowed.
inline std::string refinement_fault(const Solver& solver) {
    if (!solver.refined) return "";
    auto [p, f] = growing(100, 1e-8);
    for (const bool exchanged : {false, true}) {
        // The same factors, of a matrix with its rows in another order.
        for (std::size_t k = p.n; exchanged && k-- > 0;) {
            f.pivots[k] = static_cast<std::int32_t>(k + 7 * k % (p.n - k));
            double* const row = p.a.data() + k * p.n;
            double* const other = p.a.data() + static_cast<std::size_t>(f.pivots[k]) * p.n;
            if (row != other) std::swap_ranges(row, row + p.n, other);
        }
        const std::string fault =
            residual_fault(solver, make_solve_problem(p, f, gpulab::random_vector<double>(p.n * 2, 5), 2));
        if (!fault.empty()) return (exchanged ? "rows exchanged: " : "") + fault;
    }
    return "";
}

/// All that a solver must do, in the order in which it is tried.
inline void check_solver(Solver& solver, gpulab::testing::Faults& faults) {
    faults.check("3 x 3 by hand", [&] { // L U = (4 2 8; 2 3 8; 1 1.5 7), its rows in the order 2, 0, 1
        const Problem p{3, {2, 3, 8, 1, 1.5, 7, 4, 2, 8}};
        const Factors f = factors_of(3, {4, 2, 8, 0.5, 2, 4, 0.25, 0.5, 3}, {2, 2, 2});
        const SolveProblem s = make_solve_problem(p, f, {13, 9.5, 14}, 1); // X = (1, 1, 1)
        Solution x(3);
        return gpulab::testing::fault_of(solver.run, s, x, [&] {
            return gpulab::compare(Solution{1, 1, 1}, x, 1e-15);
        });
    });
    faults.check("every size", [&] {
        return fault_of(solver, {1, 2, 3, 31, 32, 33, 63, 64, 65, 96, 97, 129, 200}, {1, 2, 33});
    });
    faults.check("contract", [&] {
        Solution expected, x(33 * 2);
        Stopwatch once;
        in_turn([&] { solver.run(exact_system(33, 2, expected), x, once); });
        solver.tiles = once.tiles();
        return gpulab::testing::contract_violation(solver.backend, solver.baseline, once,
                                                   {"elements", "right-hand sides"});
    });
    faults.check("sizes next to its tiles", [&] { return fault_of(solver, sizes_next_to(solver, "elements"), {3}); });
    faults.check("right-hand sides next to its tiles",
                 [&] { return fault_of(solver, {70}, sizes_next_to(solver, "right-hand sides")); });
    // 65536 elements for each of two threads, behind the first block of 64 unknowns
    faults.check("work for several threads", [&] { return fault_of(solver, {160}, {1500}); });
    faults.check("special matrices", [&] { // ill-conditioned: the residual is small all the same
        return residual_fault(solver, make_solve_problem(hilbert(10), 2, seed));
    });
    faults.check("a refinement that refines", [&] { return refinement_fault(solver); });
    faults.check("tiny pivots", [&] { // below 1e-308: their reciprocal is infinite
        for (const std::size_t n : {1, 40, 130})
            if (const std::string fault = solver.baseline ? "" : exact_fault(solver, n, 3, -1040); !fault.empty())
                return fmt::format("n = {}: {}", n, fault);
        return std::string();
    });
    faults.check("options in pairs", [&] { return pairs_fault(solver); });
    faults.check("NaN stays in its right-hand side", [&] {
        if (solver.baseline) return std::string();
        Solution expected, x(70 * 3);
        SolveProblem p = exact_system(70, 3, expected);
        p.b[20 * 3 + 1] = std::numeric_limits<double>::quiet_NaN();
        Stopwatch once;
        gpulab::poison(x);
        in_turn([&] { solver.run(p, x, once); });
        bool nan = false;
        for (std::size_t e = 0; e < x.size(); ++e) {
            if (e % 3 == 1) nan = nan || std::isnan(x[e]);
            else if (x[e] != expected[e]) return fmt::format("element {} is {}, not {}", e, x[e], expected[e]);
        }
        return std::string(nan ? "" : "it is lost");
    });
}

} // namespace lu::testing
