/// @file
/// Lab 04, SpMV: y = A x with every variant on every device, checked against a sum in a wider type.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <vector>

#include "describe.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab/terminal.hpp"
#include "spmv.hpp"
#include "studies.hpp"

namespace {

/// The user's options.
struct Choice {
    std::string matrix;   // a Matrix Market file
    std::string generate; // or a description
    std::string write;
    std::string x, y; // files of the vectors
    std::string type = "float";
    std::size_t rows = std::size_t{1} << 20; // of the studies
};

/// Rejects conflicting options, and fills in the defaults.
void check_options(const gpulab::Options& options, Choice& choice) {
    if (!choice.matrix.empty() && !choice.generate.empty())
        throw gpulab::UsageError("--matrix and --generate: give only one of them");
    if (options.study().empty() && options.given("--rows")) throw gpulab::UsageError("--rows is for studies (--study)");
    if (choice.generate.empty()) choice.generate = "laplace2d:1000";
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Prints how fast a file was read or written.
void print_rate(const char* what, const std::string& path, double seconds) {
    std::error_code none; // /dev/stdout has no size
    const auto bytes = std::filesystem::file_size(path, none);
    if (none) return;
    fmt::print("\n{}\n", spmv::rate_text(what, path, static_cast<double>(bytes), seconds));
}

template <class T> int run(const gpulab::Options& options, const Choice& choice) {
    if (!options.study().empty()) return spmv::run_study<T>(options, choice.rows);

    const std::string name = choice.matrix.empty() ? choice.generate : choice.matrix;
    const spmv::MemoryNeed need = spmv::memory_need<T>(
        choice.matrix.empty() ? gpulab::generated_size(choice.generate) : gpulab::matrix_market_size(choice.matrix));
    gpulab::check_memory(options, need.device, need.host, name);  // before anything is allocated
    const auto jobs = gpulab::jobs(spmv::variants<T>(), options); // which variant runs where
    const auto begin = Clock::now();
    gpulab::Csr<T> made = choice.matrix.empty() ? gpulab::generate_matrix<T>(choice.generate, options.seed())
                                                : gpulab::read_matrix_market<T>(choice.matrix);
    const double made_in = seconds_since(begin);
    spmv::Problem<T> problem = spmv::make_problem(std::move(made), options.seed());
    if (choice.matrix.empty() && choice.generate == "lecture") // all ones, as in its program
        std::fill(problem.x.begin(), problem.x.end(), T{1});
    if (!choice.x.empty()) problem.x = gpulab::read_vector<T>(choice.x, problem.matrix.columns);
    gpulab::OutputFile file_of_y;
    if (!choice.y.empty()) file_of_y = gpulab::OutputFile(choice.y);
    const gpulab::Csr<T>& a = problem.matrix;
    gpulab::Report report(options, {{"matrix", name},
                                    {"type", choice.type},
                                    {"rows", a.rows},
                                    {"columns", a.columns},
                                    {"nonzeros", a.nonzeros()}});
    const spmv::FormatBytes bytes = spmv::format_bytes(a);
    spmv::describe(a, bytes);
    if (spmv::is_small(a)) spmv::show(a, problem.x);
    if (!choice.matrix.empty()) print_rate("read", choice.matrix, made_in);
    if (!choice.write.empty()) {
        const auto write_begin = Clock::now();
        gpulab::write_matrix_market(choice.write, a);
        print_rate("written", choice.write, seconds_since(write_begin));
    }

    const spmv::Reference<T> reference = spmv::make_reference(problem);
    spmv::check_range(problem, reference, name);
    spmv::Output<T> y(a.rows);
    report.sequential(gpulab::sequential(spmv::variants<T>(), "cpu_sequential", problem, y));

    spmv::add_format_column(report, bytes);
    std::string writer, small_y;   // of the first variant that is right
    for (const auto& job : jobs) { // each poisons y, runs its variant and compares y with the reference
        report.doing(job.variant.name);
        gpulab::Result r = gpulab::run(job, problem, y, options, [&] { return spmv::compare(reference, y); });
        spmv::add_format(r, bytes);
        const bool first = r.status == gpulab::Result::Status::passed && writer.empty();
        report.add(std::move(r), spmv::work(a));
        if (!first) continue;
        writer = job.variant.name;
        if (spmv::is_small(a)) small_y = fmt::format("y = {}  ({})", fmt::join(y, " "), writer);
        if (file_of_y) file_of_y.prepare(gpulab::array_text(y));
    }
    const int code = report.finish();
    if (!small_y.empty()) fmt::print("{}", gpulab::wrapped(small_y, gpulab::terminal_of_stdout().columns, 0, 4));
    if (!file_of_y) return code;
    if (writer.empty()) throw gpulab::Error(choice.y + ": not written, because no variant was right");
    fmt::print("{}: y, as {} computed it\n", choice.y, writer);
    gpulab::flush_stdout();
    file_of_y.commit();
    return code;
}

} // namespace

int main(int argc, char** argv) try {
    Choice choice;
    gpulab::Options options("spmv", "y = A x with a sparse matrix A");
    options.input("--matrix", choice.matrix, "multiply this Matrix Market file");
    options.text("--generate", choice.generate,
                 std::string("multiply a generated matrix [laplace2d:1000]: ") + gpulab::generator_help);
    options.input("--x", choice.x, "multiply by the vector of this Matrix Market file [random; for lecture all ones]");
    options.output("--y", choice.y, "write y to this Matrix Market file");
    options.output("--write", choice.write, "write the matrix to this Matrix Market file");
    options.choice("--type", choice.type, {"float", "double"}, "type of the values");
    options.size("--rows", choice.rows, 4, "rows of the larger matrices in studies", std::size_t{1} << 26);
    options.small("--generate", choice.generate, "laplace2d:64");
    options.variants(spmv::variants<float>()); // the same names for double
    options.studies(spmv::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered
    check_options(options, choice);
    return choice.type == "double" ? run<double>(options, choice) : run<float>(options, choice);
} catch (...) {
    return gpulab::fail("spmv");
}
