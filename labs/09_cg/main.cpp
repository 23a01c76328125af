/// @file
/// Lab 09, conjugate gradients: solves A x = b with every variant on every device; or the user's own system, once.
#include <fmt/format.h>

#include "gpulab/gpus_first.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "judge.hpp"
#include "once.hpp"
#include "program.hpp"
#include "runs.hpp"
#include "studies.hpp"
#include "tuning.hpp"

namespace {

/// Solves the system with every chosen variant, and measures them.
template <class T> int compute(const gpulab::Options& options, const cg::Choice& c) {
    if (!options.study().empty()) return cg::run_study<T>(options, c.rows, c.settings);
    const auto jobs = gpulab::gpus_first(cg::jobs<T>(options, c.settings.parts), options); // which variant runs where
    const cg::Problem<T> problem = cg::problem_of<T>(options, c);
    cg::Files files("cg", c);
    if (!c.write.empty()) files.write([&] { gpulab::write_matrix_market(c.write, problem.matrix); });
    if (cg::is_solved_once(options, c)) return cg::solve_once(jobs, c, problem, files);

    // What the method itself comes to, before anything is measured.
    cg::Output<T> out;
    const gpulab::Sequential sequential =
        gpulab::sequential(cg::variants<T>(), "cpu_sequential", problem, out, cg::Stopwatch(0, 1));
    if (out.end == cg::End::not_positive || out.end == cg::End::not_finite) {
        files.write_histories({{"cpu_sequential on cpu:0", out.history}});
        (void)cg::report_solution(problem, out, files, c.name()); // throws
    }
    gpulab::Report report(options, cg::parameters(problem, c.name()));
    report.sequential(sequential);
    cg::add_columns(report);
    cg::Notes<T> notes(problem, out);
    const cg::Reference reference = cg::make_reference(problem);

    const gpulab::Work work = cg::work(problem, out.iterations());
    for (const auto& job : jobs) { // each poisons the output, runs its variant and judges what that leaves
        report.doing(job.variant.name);
        gpulab::Result r =
            gpulab::run(job, problem, out, options, [&] { return cg::compare(problem, reference, out); });
        notes.add(job, r);
        report.add(std::move(r), work);
        // The solution is there: a user who only wants x need not wait for the other variants.
        if (notes.solution.end == cg::End::converged && files.solution_is_apart())
            files.write_solution(notes.solution.x);
    }
    int code = gpulab::exit_failure;
    files.write([&] { code = report.finish(); });
    const bool traced = cg::print_notes(notes, files);

    if (notes.solver.empty()) {
        if (!c.solution.empty()) throw gpulab::Error(c.solution + ": not written, because no variant is right");
        return files.all_written() ? code : gpulab::exit_failure;
    }
    std::string no_trace;
    if (!traced) no_trace = c.trace + ": not written, because no variant that can record a trace made three iterations";
    fmt::print("\n{}: {}\n", notes.solver,
               cg::report_solution(problem, notes.solution, files, notes.solver, traced ? "" : "; " + no_trace));
    if (!traced) throw gpulab::Error(no_trace);
    return files.all_written() ? code : gpulab::exit_failure;
}

} // namespace

int main(int argc, char** argv) try {
    cg::Choice c;
    gpulab::Options options("cg", "A x = b by conjugate gradients, with a sparse, symmetric and positive definite A");
    cg::add_options(options, c, "",
                    "the parts: equally many non-zeros, by the measured speed of each device, or by its compute units "
                    "times its clock rate",
                    {cg::balance_names.begin(), cg::balance_names.end()});
    options.output("--trace", c.trace,
                   "write the commands of one iteration to this file (Chrome trace format), and draw them");
    options.output("--write", c.write, "write A to this Matrix Market file");
    options.size("--parts", c.settings.parts, 1,
                 "parts that rungs for several devices cut the rows into; default: as many as devices, at least 2", 64);
    options.output("--tuning", c.settings.tuning,
                   "file that keeps the group counts of tuned OpenCL rungs; it is made when absent");
    options.size("--rows", c.rows, 16, cg::rows_help, std::size_t{1} << 28);
    options.small("--generate", c.generate, "laplace2d:32");
    options.variants(cg::variants<double>()); // the same names for float
    options.studies(cg::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered
    cg::set_defaults(c);
    if (options.study().empty() && options.given("--rows")) throw gpulab::UsageError("--rows is for studies (--study)");
    c.settings.trace = !c.trace.empty();
    if (!c.settings.tuning.empty()) { // what is wrong with it is said before the work is done
        (void)cg::TuningCache(c.settings.tuning);
        (void)gpulab::OutputFile(c.settings.tuning);
    }
    return c.type == "double" ? compute<double>(options, c) : compute<float>(options, c);
} catch (...) {
    return gpulab::fail("cg");
}
