/// @file
/// Lab 04, SpMV: y = A x with every variant on every device, checked against a sum in a wider type.
#include <fmt/format.h>

#include "choice.hpp"
#include "describe.hpp"
#include "gpulab/file.hpp"
#include "gpulab/gpus_first.hpp"
#include "gpulab/jobs.hpp"
#include "spmv.hpp"
#include "studies.hpp"

namespace {

template <class T> int run(const gpulab::Options& options, const spmv::Choice& choice) {
    if (!options.study().empty()) return spmv::run_study<T>(options, choice.rows);

    const spmv::MemoryNeed need = spmv::memory_need<T>(spmv::size_of(choice));
    gpulab::check_memory(options, need.device, need.host, choice.name()); // before anything is allocated
    const auto jobs =
        gpulab::gpus_first(gpulab::jobs(spmv::variants<T>(), options), options); // which variant runs where
    double made_ms = 0;
    const spmv::Problem<T> problem = spmv::problem_of<T>(options, choice, made_ms);
    gpulab::OutputFile file_of_y = gpulab::output_file(choice.y);
    const gpulab::Csr<T>& a = problem.matrix;
    gpulab::Report report(options, {{"matrix", choice.name()},
                                    {"type", choice.type},
                                    {"rows", a.rows},
                                    {"columns", a.columns},
                                    {"nonzeros", a.nonzeros()}});
    const spmv::FormatBytes bytes = spmv::format_bytes(a);
    spmv::describe(a, bytes);
    if (spmv::is_small(a)) spmv::show(a, problem.x);
    if (!choice.matrix.empty()) spmv::print_rate("read", choice.matrix, made_ms);
    if (!choice.write.empty()) {
        const double begin = gpulab::clock_ms();
        gpulab::write_matrix_market(choice.write, a);
        spmv::print_rate("written", choice.write, gpulab::clock_ms() - begin);
    }

    const spmv::Reference<T> reference = spmv::make_reference(problem);
    spmv::check_range(problem, reference, choice.name());
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
    spmv::Choice choice;
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
    spmv::check_options(options, choice);
    return choice.type == "double" ? run<double>(options, choice) : run<float>(options, choice);
} catch (...) {
    return gpulab::fail("spmv");
}
