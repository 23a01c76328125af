#include "system.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "files.hpp"
#include "gpulab/file.hpp"
#include "gpulab/jobs.hpp"
#include "lu.hpp"
#include "solve.hpp"

namespace lu {

namespace {

/// The variants that may factorise, on their devices, the best one first: the one that the user named, or those of the
/// preferred ones that the devices can run.
std::vector<gpulab::Job<Run>> candidates(const gpulab::Options& options) {
    if (options.chosen_variants().size() > 1)
        throw gpulab::UsageError("--variant: one variant solves the system, not several");
    const auto jobs = gpulab::jobs(variants(), options);
    if (!options.chosen_variants().empty()) return {jobs.front()};
    std::vector<gpulab::Job<Run>> list;
    for (const std::string_view name : preferred_variants)
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

std::string text_of(const SolvedSystem& s) {
    std::string text =
        fmt::format("{}: {} x {}, {} right-hand side{}\n", s.matrix, s.n, s.n, s.count, s.count == 1 ? "" : "s");
    text += fmt::format("factorised by {} on {} in {:.4g} ms, solved by {} in {:.4g} ms\n", s.variant, s.device,
                        s.factorise_ms, s.solver, s.solve_ms);
    text += fmt::format(
        "residual: {:.3g}, the largest element of B - A X; {:.3g} times n eps (norm(A) norm(X) + norm(B))\n",
        s.residual, s.backward_error);
    text += fmt::format("condition: {:.3g}, estimated in the 1-norm\n", s.condition);
    return text + (s.digits >= 0 ? fmt::format("About {} digits of X are right.\n", s.digits)
                                 : "The matrix is singular to working precision: X may have no right digit.\n");
}

std::string json_of(const SolvedSystem& s) {
    nlohmann::ordered_json object = {
        {"lab", "lu"},
        {"problem", {{"op", "solve"}, {"matrix", s.matrix}, {"n", s.n}, {"rhs_count", s.count}}},
        {"factorised_by", s.variant},
        {"device", s.device},
        {"factorise_ms", s.factorise_ms},
        {"solved_by", s.solver},
        {"solve_ms", s.solve_ms},
        {"residual", s.residual},
        {"backward_error", s.backward_error},
        {"condition", s.condition}, // null where it is infinite
        {"digits", std::max(s.digits, 0)}};
    return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int right_digits(double condition, double largest) {
    const double digits = -std::log10(condition * std::numeric_limits<double>::epsilon());
    if (!(digits > 0)) return -1;
    const double held = largest > 0 ? std::log10(largest) - std::log10(std::numeric_limits<double>::denorm_min()) : 15;
    return static_cast<int>(std::floor(std::min({digits, held, 15.0})));
}

int scale(std::vector<double>& numbers) {
    using Limits = std::numeric_limits<double>;
    double largest = 0, smallest = Limits::max(); // other than zero
    for (const double v : numbers) {
        raise(largest, std::abs(v));
        if (v != 0) smallest = std::min(smallest, std::abs(v));
    }
    if (largest == 0 || (largest > 0x1p-256 && largest < 0x1p256)) return 0;
    int exponent = -std::ilogb(largest);
    if (exponent < 0) exponent = std::clamp(Limits::min_exponent - 1 - std::ilogb(smallest), exponent, 0);
    for (double& v : numbers) v = std::ldexp(v, exponent);
    return exponent;
}

int solve_system(const gpulab::Options& options, const SystemFiles& files) {
    const std::vector<gpulab::Job<Run>> list = candidates(options);
    gpulab::OutputFile out;
    if (!files.solution.empty()) out = gpulab::OutputFile(files.solution); // before the work is done
    gpulab::OutputFile json;
    if (!options.json().empty()) json = gpulab::OutputFile(options.json());
    Problem p = read_problem(files.matrix);
    Dense b = read_dense(files.rhs);
    if (b.rows != p.n)
        throw gpulab::UsageError(
            fmt::format("{} has {} rows, the matrix of {} has {}", files.rhs, b.rows, files.matrix, p.n));
    if (b.columns == 0) throw gpulab::UsageError(files.rhs + ": there is nothing to solve, it has no columns");
    const int scale_of_a = scale(p.a), scale_of_b = scale(b.values);

    Factors f(p.n);
    Stopwatch watch, solve_watch;
    const gpulab::Job<Run> job = factorise(list, p, f, watch);
    const gpulab::Comparison factors = compare(p, f, pivots(job.variant.name));
    if (!factors.passed) throw gpulab::WrongResult(std::string(job.variant.name) + ": " + factors.message);

    SolvedSystem solved;
    solved.matrix = files.matrix;
    solved.n = p.n;
    solved.count = b.columns;
    solved.variant = job.variant.name;
    solved.device = job.device().name.empty() ? job.device().id() : job.device().name;
    solved.solver = job.variant.backend == gpulab::Backend::cuda ? "cuda_solve_refined" : "cpu_solve_refined";
    const SolveProblem system = make_solve_problem(p, f, std::move(b.values), b.columns);
    Solution x(system.b.size());
    gpulab::run_of(solve_variants(), solved.solver)(system, x, solve_watch);

    solved.factorise_ms = watch.kernel().median;
    solved.solve_ms = solve_watch.kernel().median;
    for (const double r : residual_of(system, x)) raise(solved.residual, std::abs(r));
    solved.residual = std::ldexp(solved.residual, -scale_of_b);
    solved.backward_error = backward_error(system, x);
    solved.condition = condition_estimate(p, f);
    double largest = 0;
    for (double& v : x) {
        v = std::ldexp(v, scale_of_a - scale_of_b); // (2^a A) Y = 2^b B: X = 2^(a - b) Y
        raise(largest, std::abs(v));
    }
    if (!std::isfinite(largest)) throw gpulab::Error("X has an element that is larger than a double holds");
    solved.digits = right_digits(solved.condition, largest);

    fmt::print("{}", text_of(solved));
    if (!(solved.backward_error <= 1)) throw gpulab::WrongResult("the residual is larger than rounding explains");
    gpulab::flush_stdout();
    if (json) json.prepare(json_of(solved));
    if (out) out.prepare(array_text({p.n, system.count, x}));
    json.commit();
    out.commit();
    return gpulab::exit_success;
}

} // namespace lu
