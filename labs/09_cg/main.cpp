/// @file
/// Lab 09, conjugate gradients: solves A x = b with every variant on every device, and writes the solution.
#include <filesystem>
#include <fmt/format.h>

#include "cg.hpp"
#include "files.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "runs.hpp"
#include "studies.hpp"
#include "tuning.hpp"

namespace {

/// What the user asked for.
struct Choice {
    std::string matrix, generate, rhs, start; // what is solved
    std::string solution, history, trace, write;
    std::string type = "double", method = "cg", preconditioner = "none", criterion = "relative", balance = "nnz";
    cg::Settings settings;
    std::size_t rows = 0; // of the studies; 0: theirs
};

/// Rejects conflicting options, and fills in the defaults.
void settle(const gpulab::Options& options, Choice& c) {
    if (!c.matrix.empty() && !c.generate.empty())
        throw gpulab::UsageError("--matrix and --generate: give only one of them");
    if (options.study().empty() && options.given("--rows")) throw gpulab::UsageError("--rows is for studies (--study)");
    if (c.generate.empty()) c.generate = "laplace2d:100";
    c.settings.method = c.method == "steepest" ? cg::Method::steepest_descent : cg::Method::conjugate_gradients;
    c.settings.jacobi = c.preconditioner == "jacobi";
    c.settings.absolute = c.criterion == "absolute";
    c.settings.balance = c.balance == "speed" ? cg::Balance::speed : cg::Balance::nonzeros;
    c.settings.trace = !c.trace.empty();
    if (!c.settings.tuning.empty()) { // what is wrong with it is said before the work is done
        (void)cg::TuningCache(c.settings.tuning);
        (void)gpulab::OutputFile(c.settings.tuning);
    }
}

gpulab::OutputFile opened(const std::string& path) {
    return path.empty() ? gpulab::OutputFile() : gpulab::OutputFile(path);
}

/// Whether a file may be written while the table is printed: not a pipe, and nothing that the table goes to.
bool is_apart(const std::string& path) {
    if (gpulab::same_file(path, "/dev/stdout") || gpulab::same_file(path, "/dev/stderr")) return false;
    return !std::filesystem::exists(path) || std::filesystem::is_regular_file(path);
}

template <class T> int run(const gpulab::Options& options, const Choice& c) {
    if (!options.study().empty()) return cg::run_study<T>(options, {c.rows, c.settings});

    const bool from_file = !c.matrix.empty();
    const std::string name = from_file ? c.matrix : c.generate;
    const cg::MemoryNeed need =
        cg::memory_need<T>(from_file ? gpulab::matrix_market_size(c.matrix) : gpulab::generated_size(c.generate));
    gpulab::check_memory(options, need.device, need.host, name); // before anything is allocated
    const auto jobs = cg::jobs<T>(options, c.settings.parts);    // which variant runs where
    gpulab::Csr<T> matrix =
        from_file ? gpulab::read_matrix_market<T>(c.matrix) : gpulab::generate_matrix<T>(c.generate, options.seed());
    std::vector<T> b =
        c.rhs.empty() ? gpulab::random_vector<T>(matrix.rows, options.seed()) : cg::read_vector<T>(c.rhs);
    std::vector<T> start = c.start.empty() ? std::vector<T>() : cg::read_vector<T>(c.start);
    const cg::Problem<T> problem =
        cg::make_problem(std::move(matrix), std::move(b), std::move(start), c.settings, name);
    gpulab::OutputFile solution = opened(c.solution), history = opened(c.history), trace = opened(c.trace);
    cg::Outputs write("cg"); // every file is tried
    if (!c.write.empty()) write([&] { gpulab::write_matrix_market(c.write, problem.matrix); });

    // What the method itself comes to, before anything is measured.
    cg::Output<T> out;
    const double sequential =
        gpulab::sequential_ms(gpulab::run_of(cg::variants<T>(), "cpu_sequential"), problem, out, cg::Stopwatch(0, 1));
    if (out.end == cg::End::not_positive || out.end == cg::End::not_finite) {
        std::string line = name + ": " + cg::describe_end(problem, out);
        if (history) write([&] { history.write(cg::history_csv({{"cpu_sequential on cpu:0", out.history}})); });
        if (solution) {
            const cg::Best<T> best = cg::best_so_far(problem, out);
            if (write([&] { solution.write(cg::to_matrix_market(best.x)); }))
                line += fmt::format("; {} has x after iteration {}", c.solution, best.iteration);
        }
        throw gpulab::Error(line);
    }
    gpulab::Report report(options, cg::parameters(problem, name, c.settings));
    report.sequential_ms(sequential);
    cg::Notes<T> notes(report, problem, out);
    const cg::Reference reference = cg::make_reference(problem);
    const gpulab::Work work = cg::work(problem, out.iterations());

    bool written = false; // the solution, or tried
    // Each job poisons the output, runs its variant and judges what that leaves.
    gpulab::measure_all(
        options, report, jobs, problem, out, work, [&](const auto&) { return cg::compare(problem, reference, out); },
        [&](const auto& job, gpulab::Result& result) {
            notes.add(job, result);
            // The solution is there: who wants no more than that need not wait for the other variants.
            if (written || !solution || notes.solved.out.end != cg::End::converged || !is_apart(c.solution)) return;
            write([&] { solution.write(cg::to_matrix_market(notes.solved.out.x)); });
            written = true;
        });
    int code = gpulab::exit_failure;
    write([&] { code = report.finish(); });

    if (!notes.timed.empty()) fmt::print("\n{}", cg::kernel_times("milliseconds of the whole solution", notes.timed));
    for (const std::string& line : notes.said) fmt::print("\n{}\n", line);
    for (const auto& [title, timeline] : notes.timelines) fmt::print("\n{}:\n{}", title, timeline.lanes());
    if (trace && !notes.timelines.empty()) write([&] { trace.write(gpulab::chrome_trace(notes.timelines)); });
    if (history) write([&] { history.write(cg::history_csv(notes.histories)); });
    if (notes.solved.variant.empty()) {
        if (solution) throw gpulab::Error(c.solution + ": not written, because no variant is right");
        return write.all_written() ? code : gpulab::exit_failure;
    }
    const cg::Output<T>& solved = notes.solved.out;
    std::string line = fmt::format("{}: {}; {}", notes.solved.variant, cg::describe_end(problem, solved),
                                   cg::describe_solution(problem, solved.x, solved.end));
    const bool unsolved = problem.stop_at > 0 && solved.end != cg::End::converged;
    if (solution && unsolved) {
        const cg::Best<T> best = cg::best_so_far(problem, solved);
        if (write([&] { solution.write(cg::to_matrix_market(best.x)); }))
            line += fmt::format("; {} has x after iteration {}", c.solution, best.iteration);
    } else if (solution && !written) write([&] { solution.write(cg::to_matrix_market(solved.x)); });
    const bool untraced = trace && notes.timelines.empty();
    const std::string no_trace =
        c.trace + ": not written, because no variant that can record a trace made three iterations";
    if (unsolved || (problem.stop_at > 0 && cg::is_no_solution(problem, solved.x)))
        throw gpulab::WrongResult(line + (untraced ? "; " + no_trace : ""));
    fmt::print("\n{}\n", line);
    if (untraced) throw gpulab::Error(no_trace);
    return write.all_written() ? code : gpulab::exit_failure;
}

} // namespace

int main(int argc, char** argv) try {
    Choice c;
    gpulab::Options options("cg", "A x = b by conjugate gradients, with a sparse, symmetric and positive definite A");
    options.input("--matrix", c.matrix, "A: this Matrix Market file");
    options.text("--generate", c.generate, std::string("A: generated [laplace2d:100]: ") + gpulab::generator_help);
    options.input("--rhs", c.rhs, "b: this Matrix Market file [random numbers]");
    options.input("--start", c.start, "the first x: this Matrix Market file [zero]");
    options.output("--solution", c.solution, "write x to this Matrix Market file");
    options.output("--history", c.history, "write the norm of the residual of every iteration to this file (CSV)");
    options.output("--trace", c.trace,
                   "write the commands of one iteration to this file (Chrome trace format), and draw them");
    options.output("--write", c.write, "write A to this Matrix Market file");
    options.number("--tolerance", c.settings.tolerance, 0, 1e300,
                   "wanted norm of the residual; 0: all --limit iterations");
    options.choice("--criterion", c.criterion, {"relative", "absolute"},
                   "the tolerance counts relative to the norm of b, or not");
    options.size("--limit", c.settings.limit, 1, "iterations at most", 100'000'000);
    options.choice("--method", c.method, {"cg", "steepest"}, "conjugate gradients, or steepest descent for comparison");
    options.choice("--preconditioner", c.preconditioner, {"none", "jacobi"}, "jacobi divides by the diagonal");
    options.choice("--type", c.type, {"float", "double"}, "type of the numbers");
    options.size("--parts", c.settings.parts, 1,
                 "parts that rungs for several devices cut the rows into; default: as many as devices, at least 2", 64);
    options.choice("--balance", c.balance, {"nnz", "speed"},
                   "the parts: equally many non-zeros, or by the measured speed of each device");
    options.output("--tuning", c.settings.tuning,
                   "file that keeps the group counts of tuned OpenCL rungs; it is made when absent");
    options.size("--rows", c.rows, 16, cg::rows_help, std::size_t{1} << 28);
    options.variants(cg::variants<double>()); // the same names for float
    options.studies(cg::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered
    settle(options, c);
    return c.type == "double" ? run<double>(options, c) : run<float>(options, c);
} catch (...) {
    return gpulab::fail("cg");
}
