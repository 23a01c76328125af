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

/// The variants that may factorise, on their devices, the best one first: the one that the user named, or those of the
/// preferred ones that the devices can run.
std::vector<gpulab::Job<Run>> candidates(const gpulab::Options& options) {
    constexpr std::array preferred = {"cuda_critical_path_pivot", "cuda_blocked_pivot", "cpu_threads_pivot",
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
    const Problem p = read_problem(files.matrix);
    Dense b = read_dense(files.rhs);
    if (b.rows != p.n)
        throw gpulab::UsageError(
            fmt::format("{} has {} rows, the matrix of {} has {}", files.rhs, b.rows, files.matrix, p.n));
    if (b.columns == 0) throw gpulab::UsageError(files.rhs + ": there is nothing to solve, it has no columns");

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

    if (!std::ranges::all_of(x, [](double v) { return std::isfinite(v); }))
        throw gpulab::Error("X has an element that is larger than a double holds");

    double residual = 0;
    for (const double r : residual_of(system, x)) raise(residual, std::abs(r));
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
    double largest = 0;
    for (const double v : x) raise(largest, std::abs(v));
    // Below the smallest normal number the digits of a double become fewer, down to one.
    const double held =
        largest > 0 ? std::log10(largest) - std::log10(std::numeric_limits<double>::denorm_min()) : 15.0;
    if (digits > 0) fmt::print("About {:.0f} digits of X are right.\n", std::floor(std::min({digits, held, 15.0})));
    else fmt::print("The matrix is singular to working precision: X may have no right digit.\n");
    if (!(error <= 1)) throw gpulab::WrongResult("the residual is larger than rounding explains");
    gpulab::flush_stdout();
    if (out) out.write(array_text({p.n, system.count, x}));
    return gpulab::exit_success;
}

} // namespace lu
