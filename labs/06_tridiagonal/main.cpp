/// @file
/// Lab 06, tridiagonal systems: A x = d with every variant on every device, checked against Thomas in a wider type.
#include <fmt/format.h>

#include "choice.hpp"
#include "files.hpp"
#include "gpulab/gpus_first.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "layouts.hpp"
#include "studies.hpp"
#include "tridiagonal.hpp"

namespace {

template <class T> int run(const gpulab::Options& options, const tridiagonal::Choice& choice) {
    if (!options.study().empty())
        return tridiagonal::run_study<T>(options, {choice.n, choice.systems, choice.matrix, choice.type});

    const bool from_file = options.given("--input");
    const tridiagonal::Announced file = tridiagonal::check_memory<T>(options, choice);
    const auto jobs =
        gpulab::gpus_first(gpulab::jobs(tridiagonal::variants<T>(), options), options); // which variant runs where
    tridiagonal::Problem<T> problem = tridiagonal::problem_of<T>(options, choice);
    gpulab::OutputFile solution = gpulab::output_file(choice.output);
    gpulab::Report report(options, {{"matrix", from_file ? choice.input : choice.matrix},
                                    {"type", choice.type},
                                    {"n", problem.n},
                                    {"systems", problem.systems},
                                    {"layout", choice.layout}});
    tridiagonal::add_layout_column<T>(report, jobs, problem.layout);
    report.column("residual", "residual", "{:.1e}");

    const tridiagonal::Reference<T> reference = tridiagonal::make_reference(problem);
    tridiagonal::check_fits(problem, reference);
    tridiagonal::Output<T> out(problem.n, problem.systems);
    report.sequential(gpulab::sequential(tridiagonal::variants<T>(), "cpu_thomas", problem, out));

    std::string solver;            // the first variant that passes
    for (const auto& job : jobs) { // each poisons the output, runs its variant and checks the result
        report.doing(job.variant.name);
        const auto judge = [&] {
            return from_file ? tridiagonal::compare_given(problem, reference, out, !job.variant.baseline)
                             : tridiagonal::compare(problem, reference, out);
        };
        gpulab::Result r = gpulab::run(job, problem, out, options, judge);
        if (r.status == gpulab::Result::Status::passed) {
            r.extra = {{"residual", tridiagonal::relative_residual(problem, out)}};
            if (solution && solver.empty()) {
                solution.prepare(gpulab::array_text(out.x, file.right_hand_sides));
                solver = job.variant.name;
            }
            tridiagonal::measure_other_layout(options, job, problem, out, judge, r);
        }
        report.add(std::move(r), tridiagonal::work<T>(problem.n, problem.systems));
    }
    const int code = report.finish();
    if (!solution) return code;
    if (solver.empty()) tridiagonal::write_others(solution, problem, reference, file.right_hand_sides); // throws
    fmt::print("{}: the solution of {}\n", choice.output, solver);
    gpulab::flush_stdout();
    solution.commit();
    return code;
}

} // namespace

int main(int argc, char** argv) try {
    tridiagonal::Choice choice;
    gpulab::Options options("tridiagonal", "tridiagonal systems of equations: many small ones, or one large one");
    constexpr std::size_t most = (std::size_t{1} << 31) - 1; // a kernel counts rows and systems in 32 bits
    options.size("--n", choice.n, 1, "unknowns of each system; of a study: the most", most);
    options.size("--systems", choice.systems, 1, "number of systems; of a study: the most", most);
    options.choice("--matrix", choice.matrix, tridiagonal::matrix_kinds, "the kind of matrix");
    options.choice("--type", choice.type, {"double", "float"}, "of the numbers");
    options.choice("--layout", choice.layout, {"separate", "interleaved"},
                   "where the clock starts, for variants that want row 0 of all systems side by side, then row 1, ...: "
                   "separate: one system after the other, and transposing them counts; interleaved: already so. The "
                   "time of the other one is in a column");
    options.input(
        "--input", choice.input,
        "solve the systems of this Matrix Market file: columns a, b, c, d, and a further one for each further d");
    options.output("--output", choice.output, "write the solution to this Matrix Market file");
    options.small("--n", choice.n, 256);
    options.small("--systems", choice.systems, 16);
    options.variants(tridiagonal::variants<double>()); // the same names for float
    options.studies(tridiagonal::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered
    tridiagonal::check_options(options, choice);
    return choice.type == "double" ? run<double>(options, choice) : run<float>(options, choice);
} catch (...) {
    return gpulab::fail("tridiagonal");
}
