/// @file
/// Lab 07, LU factorisation: P A = L U of one matrix or of many small ones, and A X = B, with every variant on every
/// device, checked by their residuals; or the user's own system from files.
#include "batch.hpp"
#include "choice.hpp"
#include "gpulab/gpus_first.hpp"
#include "gpulab/jobs.hpp"
#include "lu.hpp"
#include "solve.hpp"
#include "studies.hpp"
#include "system.hpp"

namespace {

using gpulab::Options;

/// P A = L U of one matrix, or of many small ones (--op batch), with every chosen variant.
int factorise(const Options& options, const lu::Choice& choice) {
    const bool batch = choice.op == "batch";
    auto jobs = gpulab::gpus_first(gpulab::jobs(batch ? lu::batch_variants() : lu::variants(), options),
                                   options); // which variant runs where
    const double n = lu::rows_of(choice), bytes = 8 * n * n * (batch ? static_cast<double>(choice.matrices) : 1);
    gpulab::check_memory(options, 2 * bytes, 3 * bytes, choice.files.matrix);
    const lu::Problem problem =
        batch ? lu::make_batch(choice.n, choice.matrices, options.seed()) : lu::problem_of(options, choice);
    gpulab::Parameters parameters = {{"op", choice.op}, {"n", problem.n}};
    if (batch) parameters.push_back({"matrices", problem.count});
    gpulab::Report report(options, parameters);
    for (auto& job : jobs)
        if (job.skip.empty()) job.skip = lu::too_slow(options, job.variant.name, job.device(), problem.flops());
    report.sequential(lu::sequential(problem));

    lu::Factors f(problem.n, problem.count);
    for (const auto& job : jobs) { // each poisons f, runs its variant and checks the factors in f
        report.doing(job.variant.name);
        const bool pivots = batch || lu::pivots(job.variant.name);
        report.add(gpulab::run(job, problem, f, options, [&] { return lu::compare(problem, f, pivots); }),
                   lu::work(problem));
    }
    return report.finish();
}

/// A X = B with every chosen variant, from the same factors.
int solve(const Options& options, const lu::Choice& choice) {
    const auto jobs = gpulab::gpus_first(gpulab::jobs(lu::solve_variants(), options), options);
    const double n = lu::rows_of(choice), bytes = 8 * (n * n + 3 * n * static_cast<double>(choice.count));
    gpulab::check_memory(options, 2 * bytes, 4 * bytes, choice.files.matrix);
    const lu::Problem matrix = lu::problem_of(options, choice);
    const lu::SolveProblem problem = lu::make_solve_problem(matrix, choice.count, options.seed() + 1);
    gpulab::Report report(options, {{"op", choice.op}, {"n", problem.n}, {"rhs_count", problem.count}});
    lu::Solution x(problem.b.size());
    report.sequential(gpulab::sequential(lu::solve_variants(), "cpu_solve_rows", problem, x));
    for (const auto& job : jobs) {
        report.doing(job.variant.name);
        const bool refines = lu::refines(job.variant.name);
        report.add(gpulab::run(job, problem, x, options, [&] { return lu::compare(problem, x, refines); }),
                   lu::work(problem));
    }
    return report.finish();
}

} // namespace

int main(int argc, char** argv) try {
    lu::Choice choice;
    Options options("lu", "P A = L U, and A X = B with the factors");
    options.choice("--op", choice.op, {"factorise", "solve", "batch"}, "what to measure");
    options.size("--n", choice.n, 1, "rows and columns of a random A; with --op batch at most 128, by default 32",
                 lu::max_rows);
    options.size("--matrices", choice.matrices, 1, "n x n matrices, with --op batch", std::size_t{1} << 24);
    options.size("--rhs-count", choice.count, 1, "columns of a random B, with --op solve", 1 << 20);
    options.input("--matrix", choice.files.matrix, "take A from this Matrix Market file");
    options.input("--rhs", choice.files.rhs, "solve A X = B with B from this file, and say how good X is");
    options.output("--solution", choice.files.solution, "with --rhs: write X to this file");
    options.small("--n", choice.n, 96);
    options.small("--matrices", choice.matrices, 64);
    options.variants(lu::variants());
    options.variants(lu::batch_variants());
    options.variants(lu::solve_variants());
    options.studies(lu::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered
    lu::check_options(options, choice);

    if (!options.study().empty()) return lu::run_study(options, choice.n);
    if (!choice.files.rhs.empty()) return lu::solve_system(options, choice.files);
    return choice.op == "solve" ? solve(options, choice) : factorise(options, choice);
} catch (...) {
    return gpulab::fail("lu");
}
