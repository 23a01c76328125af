/// @file
/// A X = B with the factors of A, for one or several right-hand sides.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lu.hpp"

namespace lu {

/// The input of a solver.
struct SolveProblem {
    std::size_t n = 0;
    std::size_t count = 1; ///< right-hand sides: columns of B and X
    std::vector<double> a; ///< for the residual of a refinement; n x n, row by row
    Factors factors;       ///< of A
    std::vector<double> b; ///< n x count, row by row: B(i, j) is b[i * count + j]
    bool random = false;   ///< A and B are, as Problem::random
    double flops() const;  ///< of the two triangular solves: 2 n^2 for each right-hand side, less n
    double bytes() const;  ///< factors and B read once, X written once
};

/// X, n x count, row by row.
using Solution = std::vector<double>;

/// A solver: from host data to host data. x has n * count elements.
using SolveRun = void(const SolveProblem& p, Solution& x, Stopwatch& watch);

/// Whether a solver refines: those that do have names that end in "_refined".
constexpr bool refines(std::string_view variant) { return variant.ends_with("_refined"); }

/// The matrix with its factors, by cpu_threads_pivot, and random right-hand sides in (-1, 1).
SolveProblem make_solve_problem(const Problem& p, std::size_t count, std::uint64_t seed);

/// The same with given factors and right-hand sides.
SolveProblem make_solve_problem(const Problem& p, const Factors& f, std::vector<double> b, std::size_t count);

/// B with its rows in the order of P A.
std::vector<double> permuted(const SolveProblem& p);

/// R = B - A X, summed in long double.
std::vector<double> residual_of(const SolveProblem& p, const Solution& x);

/// The normwise backward error, of the worst right-hand side:
/// norm(b - A x) / (n eps (norm(A) norm(x) + norm(b))), in the infinity norm.
double backward_error(const SolveProblem& p, const Solution& x);

/// Does X solve A X = B?
///
/// The error is backward_error(). Factorisation and two triangular solves leave at most 3 n eps / 2 times
/// norm(|L| |U|) / norm(A) (Higham, theorem 9.4); that is the tolerance without refinement. One step of refinement
/// removes the effect of growth, unless A is close to singular; then the tolerance is 1.
///
/// With random A and B, rounding errors have random signs; see compare(const Problem&, const Factors&, bool). Those of
/// a row then add up to at most lambda sqrt(n) eps / 2 random_growth() norm(x) in each of the three steps, and the
/// tolerance is 3 lambda / 2 random_growth() / (sqrt(n) norm(A)). After a refinement only the rounding errors of its
/// residual are left, n in each row, and the tolerance is lambda / (2 sqrt(n)). The smaller tolerance counts.
gpulab::Comparison compare(const SolveProblem& p, const Solution& x, bool refined);

/// An estimate of norm(A) norm(A^-1) in the 1-norm, from the factors: at most the condition number, and rarely less
/// than a third of it (Higham, section 15.2, algorithm of Hager).
/// @return infinity when a pivot is zero or the inverse overflows
double condition_estimate(const Problem& p, const Factors& f);

/// Bytes that must move and operations that must be done, the same for all variants.
gpulab::Work work(const SolveProblem& p);

/// The solvers: one row per rung.
std::span<const gpulab::Variant<SolveRun>> solve_variants();

} // namespace lu
