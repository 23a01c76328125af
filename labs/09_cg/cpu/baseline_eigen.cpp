// Baseline: ConjugateGradient of Eigen, a library of C++ templates.
//
// OpenMP's threads share the product A p; the other loops, each over one or two vectors, are the work of one thread.
// Eigen keeps no history. So its preconditioner, which receives all residuals but one that is small enough, notes their
// norms. Nor does Eigen look at p . A p, so a system whose iteration breaks down is refused.
#include <Eigen/IterativeLinearSolvers>
#include <algorithm>

#include "cg.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"

namespace cg {

namespace {

/// One of Eigen's preconditioners, which notes the norms of the residuals.
template <class Preconditioner> struct Noting : Preconditioner {
    std::vector<double>* history = nullptr;

    template <class Vector> decltype(auto) solve(const Vector& r) const {
        history->push_back(r.template cast<double>().norm());
        return Preconditioner::solve(r);
    }
};

template <class Preconditioner, class T> void solve_with(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    using Matrix = Eigen::SparseMatrix<T, Eigen::RowMajor, std::int32_t>;
    using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
    const gpulab::Csr<T>& a = problem.matrix;
    const std::vector<std::int32_t> row_start = narrow_offsets(a);
    const auto n = static_cast<Eigen::Index>(problem.n());
    const Eigen::Map<const Matrix> matrix(n, n, static_cast<Eigen::Index>(a.nonzeros()), row_start.data(),
                                          a.column.data(), a.value.data());
    const Eigen::Map<const Vector> b(problem.b.data(), n), start(problem.start.data(), n);
    out.x.resize(problem.n());
    Eigen::Map<Vector> x(out.x.data(), n);
    const double norm = b.template cast<double>().norm();
    const auto limit = static_cast<Eigen::Index>(problem.limit);

    // Both triangles: then it uses the matrix as it is, row by row.
    Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Noting<Preconditioner>> solver;
    solver.preconditioner().history = &out.history;
    solver.setMaxIterations(limit).setTolerance(static_cast<T>(norm > 0 ? problem.stop_at / norm : 0));
    solver.compute(matrix);
    const auto solve = [&] {
        out.history.clear();
        x = solver.solveWithGuess(b, start);
        if (solver.iterations() < limit) out.history.push_back(static_cast<double>(solver.error()) * norm);
    };
    watch.time(solve, gpulab::poisoning(out.x));
    // Where the wanted norm is so small that its square underflows, Eigen ends with the smallest that does not.
    out.end = out.history.back() <= problem.stop_at ? End::converged
              : solver.iterations() < limit         ? End::exhausted
                                                    : End::limit;
}

} // namespace

template <class T> void cpu_eigen(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    if (problem.steepest) throw gpulab::Unsupported("Eigen has no steepest descent");
    watch.leave_out([&] {
        Output<T> ours;
        Stopwatch once;
        gpulab::run_of(variants<T>(), "cpu_sequential")(problem, ours, once);
        if (ours.end != End::converged && ours.end != End::limit)
            throw gpulab::Unsupported("the iteration breaks down, which Eigen does not notice");
        if (ours.history[0] > 0 && std::ranges::all_of(problem.b, [](T value) { return value == 0; }))
            throw gpulab::Unsupported("for b = 0 Eigen does not iterate");
    });
    // No more than cores: they wait for each other in loops.
    Eigen::setNbThreads(std::min(gpulab::hardware_threads(), omp_get_num_procs()));
    if (problem.jacobi) solve_with<Eigen::DiagonalPreconditioner<T>>(problem, out, watch);
    else solve_with<Eigen::IdentityPreconditioner>(problem, out, watch);
}

INSTANTIATE_RUNG(cpu_eigen);

} // namespace cg
