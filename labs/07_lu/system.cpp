#include "system.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <vector>

#include "files.hpp"
#include "gpulab/device.hpp"
#include "gpulab/file.hpp"
#include "gpulab/jobs.hpp"
#include "lu.hpp"
#include "solve.hpp"

namespace lu {

namespace {

/// The variants that may factorise, on their devices, the best one first: the one that the user named, or those of
/// these that the devices have.
std::vector<gpulab::Job<Run>> candidates(const gpulab::Options& options) {
    constexpr std::array preferred = {"cuda_look_ahead_pivot", "cuda_blocked_pivot", "cpu_threads_pivot",
                                      "opencl_blocked_pivot"};
    if (options.chosen_variants().size() > 1)
        throw gpulab::UsageError("--variant: one variant solves the system, not several");
    const auto jobs = gpulab::jobs(variants(), options);
    if (!options.chosen_variants().empty()) return {jobs.front()};
    std::vector<gpulab::Job<Run>> list;
    for (const char* const name : preferred)
        for (const auto& job : jobs)
            if (job.variant.name == name && job.skip.empty()) list.push_back(job);
    if (list.empty()) throw gpulab::UsageError("the chosen devices have no variant with pivoting");
    return list;
}

/// Factorises with the first variant that can. @return that variant
gpulab::Job<Run> factorise(const std::vector<gpulab::Job<Run>>& list, const Problem& p, Factors& f, Stopwatch& watch) {
    for (std::size_t i = 0;; ++i) {
        gpulab::use(list[i].devices);
        poison(f);
        try {
            list[i].variant.run(p, f, watch);
            return list[i];
        } catch (const gpulab::Unsupported&) {
            if (i + 1 == list.size()) throw;
        }
    }
}

} // namespace

int solve_system(const gpulab::Options& options, const SystemFiles& files) {
    const std::vector<gpulab::Job<Run>> list = candidates(options);
    gpulab::OutputFile out;
    if (!files.solution.empty()) out = gpulab::OutputFile(files.solution); // before the work is done
    Dense a = read_dense(files.matrix), b = read_dense(files.rhs);
    if (a.rows != a.columns)
        throw gpulab::UsageError(
            fmt::format("{}: a system needs a square matrix, not {} x {}", files.matrix, a.rows, a.columns));
    if (a.rows == 0 || b.columns == 0) throw gpulab::UsageError("there is nothing to solve: a file has no elements");
    if (b.rows != a.rows)
        throw gpulab::UsageError(
            fmt::format("{} has {} rows, the matrix of {} has {}", files.rhs, b.rows, files.matrix, a.rows));
    if (a.rows > most_rows) throw gpulab::UsageError(fmt::format("{}: more than {} rows", files.matrix, most_rows));

    const Problem p{a.rows, std::move(a.values)};
    Factors f(p.n);
    Stopwatch watch;
    const gpulab::Job<Run> job = factorise(list, p, f, watch);
    const gpulab::Comparison factors = compare(p, f, pivots(job.variant.name));
    if (!factors.passed) throw gpulab::WrongResult(std::string(job.variant.name) + ": " + factors.message);

    const char* const solver =
        job.variant.backend == gpulab::Backend::cuda ? "cuda_solve_refined" : "cpu_solve_refined";
    const SolveProblem system = make_solve_problem(p, f, std::move(b.values), b.columns);
    Solution x(system.b.size());
    Stopwatch solve_watch;
    gpulab::run_of(solve_variants(), solver)(system, x, solve_watch);

    double residual = 0;
    for (const double r : residual_of(system, x))
        if (!(std::abs(r) <= residual)) residual = std::abs(r);
    const double condition = condition_estimate(p, f), error = backward_error(system, x);
    fmt::print("{}: {} x {}, {} right-hand side{}\n", files.matrix, p.n, p.n, system.count,
               system.count == 1 ? "" : "s");
    fmt::print("factorised by {} on {} in {:.4g} ms, solved by {} in {:.4g} ms\n", job.variant.name,
               job.device().name.empty() ? job.device().id() : job.device().name, watch.kernel().median, solver,
               solve_watch.kernel().median);
    fmt::print("residual: {:.3g}, the largest element of B - A X; {:.3g} times n eps (norm(A) norm(X) + norm(B))\n",
               residual, error);
    fmt::print("condition: {:.3g}, estimated in the 1-norm\n", condition);
    const double digits = -std::log10(condition * std::numeric_limits<double>::epsilon());
    if (digits > 0) fmt::print("About {:.0f} digits of X are right.\n", std::floor(std::min(digits, 15.0)));
    else fmt::print("The matrix is singular to working precision: X may have no right digit.\n");
    if (!(error <= 1)) throw gpulab::WrongResult("the residual is larger than rounding explains");
    if (out) out.write(array_text({p.n, system.count, x}));
    return gpulab::exit_success;
}

} // namespace lu
