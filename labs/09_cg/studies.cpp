#include "studies.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/report.hpp"
#include "gpulab/sparse/generate.hpp"
#include "runs.hpp"

namespace cg {

using gpulab::Options;
using gpulab::Report;

namespace {

/// The 5-point Laplacian with about so many unknowns.
std::string laplacian(std::size_t rows) {
    const auto side = static_cast<std::size_t>(std::max(2.0, std::round(std::sqrt(static_cast<double>(rows)))));
    return fmt::format("laplace2d:{}", side);
}

template <class T> Problem<T> problem_of(const std::string& matrix, const Options& options, const Settings& settings) {
    gpulab::Csr<T> a = gpulab::generate_matrix<T>(matrix, options.seed());
    std::vector<T> b = gpulab::random_vector<T>(a.rows, options.seed());
    return make_problem(std::move(a), std::move(b), {}, settings, matrix);
}

/// The method four ways on one matrix: the histories are what the study is about.
template <class T> void history(const Options& options, Report& report, const StudySettings& study) {
    report.column("method", "method"), report.column("preconditioner", "precond.");
    const auto side = static_cast<std::size_t>(std::max(4.0, std::sqrt(static_cast<double>(study.rows) / 2)));
    for (const std::string& matrix : {laplacian(study.rows), fmt::format("springs:{}x{}", side, side)})
        for (const Method method : {Method::conjugate_gradients, Method::steepest_descent})
            for (const bool jacobi : {false, true}) {
                Settings settings = study.settings;
                settings.method = method, settings.jacobi = jacobi;
                const Problem<T> p = problem_of<T>(matrix, options, settings);
                report.begin(parameters(p, matrix, settings));
                Output<T> out;
                Notes<T> notes(report, p, out);
                const Reference reference = make_reference(p);
                for (const auto& job : jobs<T>(options)) {
                    if (job.variant.name != "cpu_threads") continue;
                    gpulab::Result result =
                        gpulab::run(job, p, out, options, [&] { return compare(p, reference, out); });
                    notes.add(job, result);
                    for (std::size_t k = 0; k < out.history.size(); k = k < 10 ? k + 1 : k + k / 10)
                        result.extra.push_back({fmt::format("residual_{}", k), out.history[k]});
                    report.add(std::move(result), work(p, out.iterations()));
                }
            }
}

} // namespace

std::vector<gpulab::StudySummary> study_list() {
    return {{"history",
             "conjugate gradients and steepest descent, with and without Jacobi: iterations and residuals",
             {"--type", "--rows", "--tolerance", "--limit"}}};
}

template <class T> int run_study(const Options& options, const StudySettings& study) {
    const MemoryNeed need = memory_need<T>({study.rows, study.rows, 5.0 * static_cast<double>(study.rows)});
    gpulab::check_memory(options, need.device, need.host);
    Report report(options);
    if (options.study() == "history") history<T>(options, report, study);
    return report.finish();
}

template int run_study<float>(const Options&, const StudySettings&);
template int run_study<double>(const Options&, const StudySettings&);

} // namespace cg
