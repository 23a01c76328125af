#include "studies.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "batch.hpp"
#include "gpulab/growth.hpp"
#include "gpulab/metrics.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/too_slow.hpp"

namespace lu {

using gpulab::Backend;
using gpulab::Device;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;

namespace {

/// Rungs on the CPU, and OpenCL on it, take up to 2^31 operations (n = 1400): some seconds for the slowest.
constexpr double patience_flops = 2147483648.0;

/// Jobs of the variants in a list, or of all when it is empty; those that would take too long skipped.
std::vector<gpulab::Job<Run>> jobs_of(const Options& options, const Problem& p,
                                      const std::vector<std::string_view>& names, bool may_be_empty = false) {
    auto jobs = gpulab::jobs(variants(), options);
    if (!names.empty())
        std::erase_if(jobs, [&](const auto& job) { return std::ranges::count(names, job.variant.name) == 0; });
    if (jobs.empty() && !may_be_empty) throw gpulab::UsageError("the study has none of the chosen variants");
    for (auto& job : jobs)
        if (job.skip.empty()) job.skip = too_slow(options, job.variant.name, job.device(), p.flops());
    return jobs;
}

bool any_runs(const std::vector<gpulab::Job<Run>>& jobs) {
    return std::ranges::any_of(jobs, [](const auto& job) { return job.skip.empty(); });
}

/// Runs a job, and checks the factors that it leaves in f.
Result run_job(const Options& options, Report& report, const gpulab::Job<Run>& job, const Problem& problem,
               Factors& f) {
    report.doing(job.variant.name);
    return gpulab::run(job, problem, f, options, [&] { return compare(problem, f, pivots(job.variant.name)); });
}

/// Figures 3.10 and 3.11 of the book: time and speed-up over n, the tiles 16 and 32, without pivoting.
void figure_3_10(const Options& options, Report& report) {
    report.column("n", "n");
    for (const std::size_t n : {64, 128, 256, 512, 1024, 2048, 4096}) {
        const Problem problem = make_problem(n, options.seed());
        const auto jobs = jobs_of(options, problem,
                                  {"cpu_right_looking", "opencl_two_kernels", "cuda_two_kernels_16",
                                   "cuda_two_kernels_32", "cuda_coalesced", "cuda_tile_rows", "cuda_tile_columns"});
        report.begin({{"op", "factorise"}, {"n", n}});
        Factors f(n);
        // The book's figures have the sequential time at all n, so it is measured wherever any variant is, however long
        // it takes.
        if (any_runs(jobs))
            report.sequential(gpulab::sequential(variants(), "cpu_right_looking", problem, f,
                                                 problem.flops() > patience_flops ? Stopwatch(0, 1) : Stopwatch(1, 5)));
        for (const auto& job : jobs) report.add(run_job(options, report, job, problem, f), work(problem));
        // The book's time has the copy of the factors to the host in it.
        const std::array<std::pair<const char*, Run*>, 2> with_copy = {
            {{"cuda_kernels_and_copy_16", GPULAB_IF_CUDA(cuda_kernels_and_copy_16)},
             {"cuda_kernels_and_copy_32", GPULAB_IF_CUDA(cuda_kernels_and_copy_32)}}};
        for (const auto& [name, run] : with_copy)
            if (run && options.wants(name, Backend::cuda))
                for (const Device& device : options.devices(Backend::cuda))
                    report.add(gpulab::measure(
                                   name, device, f, options,
                                   [&, kernels = run](Factors& out, Stopwatch& watch) { kernels(problem, out, watch); },
                                   [&] { return compare(problem, f, false); }),
                               {.flops = problem.flops()});
    }
}

/// Time per operation of the rungs with pivoting from 16 x 16 on, as far as memory and patience go.
void growth(const Options& options, Report& report, std::size_t most) {
    gpulab::Growth growth(options, report, "operation",
                          {"cpu_right_looking_pivot", "cpu_blocked_pivot", "cpu_threads_pivot", "opencl_columns_pivot",
                           "opencl_blocked_pivot", "cuda_blocked_pivot", "cuda_critical_path_pivot",
                           "cuda_cusolver_pivot"});
    report.column("n", "n");
    for (const std::size_t n : growth.sizes("--n", most, 16, 2, max_rows)) {
        const double matrix = 8 * static_cast<double>(n) * static_cast<double>(n);
        if (!growth.fits(fmt::format("n = {}", n), Problem{n, {}}.flops(), 3 * matrix, 4 * matrix)) break;
        const Problem problem = make_problem(n, options.seed());
        Factors f(n);
        report.begin({{"op", "factorise"}, {"n", n}});
        for (const auto& job : growth.jobs(variants())) {
            Result r = run_job(options, report, job, problem, f);
            growth.add_to(r);
            report.add(std::move(r), work(problem));
        }
    }
}

/// Every rung, with its percent of the library's speed.
void ladder(const Options& options, Report& report) {
    report.column("n", "n");
    report.column("percent_of_library", "% library");
    for (const std::size_t n : {1024, 2048, 4096, 8192}) {
        const Problem problem = make_problem(n, options.seed());
        // One pass over 512 MiB for each of 8192 columns takes long: there the rungs in blocks only.
        auto jobs =
            n <= 4096
                ? jobs_of(options, problem, {})
                : jobs_of(options, problem,
                          {"cpu_blocked", "cpu_blocked_pivot", "cpu_threads", "cpu_threads_pivot", "cuda_blocked_pivot",
                           "cuda_tensor_pivot", "cuda_cluster_pivot", "cuda_look_ahead_pivot",
                           "cuda_critical_path_pivot", "cuda_cusolver", "cuda_cusolver_pivot"},
                          true);
        if (jobs.empty()) continue;
        std::stable_partition(jobs.begin(), jobs.end(), [](const auto& job) { return job.variant.baseline; });
        report.begin({{"op", "factorise"}, {"n", n}});
        report.sequential(sequential(problem));
        Factors f(n);
        PercentOfLibrary percent;
        for (const auto& job : jobs) {
            Result r = run_job(options, report, job, problem, f);
            percent.add_to(r, job.variant.baseline, pivots(job.variant.name));
            report.add(std::move(r), work(problem));
        }
    }
}

/// What pivoting costs: rungs that differ in nothing else, side by side.
void pivoting(const Options& options, Report& report) {
    constexpr std::array<std::array<std::string_view, 2>, 7> pairs = {{
        {"cpu_right_looking", "cpu_right_looking_pivot"},
        {"cpu_two_stage", "cpu_two_stage_pivot"},
        {"cpu_blocked", "cpu_blocked_pivot"},
        {"cpu_threads", "cpu_threads_pivot"},
        {"opencl_two_kernels", "opencl_columns_pivot"},
        {"cuda_coalesced", "cuda_columns_pivot"},
        {"cuda_cusolver", "cuda_cusolver_pivot"},
    }};
    std::vector<std::string_view> names;
    for (const auto& pair : pairs) names.insert(names.end(), pair.begin(), pair.end());
    report.column("n", "n");
    report.column("times_without", "x without");
    report.column("growth", "growth", "{:.3g}");
    for (const std::size_t n : {256, 512, 1024, 2048, 4096}) {
        const Problem problem = make_problem(n, options.seed());
        report.begin({{"op", "factorise"}, {"n", n}});
        report.sequential(sequential(problem));
        Factors f(n);
        std::map<std::pair<std::string, std::string_view>, double> without_ms; // by device and variant
        for (const auto& job : jobs_of(options, problem, names)) {
            Result r = run_job(options, report, job, problem, f);
            if (r.kernel.repeats > 0) { // else it did not run
                without_ms[{r.device.id(), job.variant.name}] = r.kernel.median;
                for (const auto& [without, with] : pairs)
                    if (const auto other = without_ms.find({r.device.id(), without});
                        with == job.variant.name && other != without_ms.end())
                        r.extra.push_back({"times_without", r.kernel.median / other->second});
                r.extra.push_back({"growth", growth_factor(problem, f)});
            }
            report.add(std::move(r), work(problem));
        }
    }
}

/// The update of one panel of 64 columns alone, beside the vendor's product.
void update(const Options& options, Report& report) {
    constexpr std::size_t width = 64;
    const std::vector<Device> found = gpulab::study_devices(options, {Backend::cuda});
    report.column("m", "m");
    report.column("percent_of_library", "% library");
    for (const std::size_t m : {960, 1984, 4032, 8128}) {
        const std::size_t n = m + width;
        const Problem problem = make_problem(n, options.seed());
        std::vector<double> expected(m * m), scale(m * m), c(m * m);
        gpulab::for_ranges(m, 16, [&](std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) {
                double* const row = expected.data() + i * m;
                double* const size = scale.data() + i * m;
                for (std::size_t j = 0; j < m; ++j) {
                    row[j] = problem.a[(width + i) * n + width + j];
                    size[j] = std::abs(row[j]);
                }
                for (std::size_t k = 0; k < width; ++k)
                    for (std::size_t j = 0; j < m; ++j) {
                        const double product = problem.a[(width + i) * n + k] * problem.a[k * n + width + j];
                        row[j] -= product;
                        size[j] += std::abs(product);
                    }
            }
        });
        report.begin({{"op", "update"}, {"m", m}, {"width", width}});
        PercentOfLibrary percent;
        for (const Device& device : found) {
            const auto add = [&](std::string_view name, Update* run, int capability) {
                Result result = gpulab::measure(
                    name, device, c, options,
                    [&](std::vector<double>& out, Stopwatch& watch) {
                        if (!run) throw gpulab::Unsupported("built without CUDA");
                        if (const auto unmet = gpulab::unmet_need({.compute_capability = capability}, device);
                            !unmet.empty())
                            throw gpulab::Unsupported(unmet);
                        run(problem, out, watch, static_cast<int>(width));
                    },
                    [&] {
                        return gpulab::compare(expected, c, 8 * std::numeric_limits<double>::epsilon(),
                                               [&](std::size_t e) { return scale[e]; });
                    });
                percent.add_to(result, name == "cuda_update_cublas", false);
                report.add(std::move(result), update_work(m, width));
            };
            add("cuda_update_cublas", GPULAB_IF_CUDA(cuda_update_cublas), 0);
            add("cuda_update_tiled", GPULAB_IF_CUDA(cuda_update_tiled), 0);
            add("cuda_update_tensor", GPULAB_IF_CUDA(cuda_update_tensor), 80);
        }
    }
}

} // namespace

void block(const Options& options, Report& report, std::size_t n, std::span<const PanelRung> rungs) {
    const Problem problem = make_problem(n, options.seed());
    const gpulab::Sequential reference = sequential(problem);
    Factors f(n);
    report.column("width", "width");
    for (const int width : {8, 16, 24, 32, 48, 64, 96, 128, 256}) {
        report.begin({{"op", "factorise"}, {"n", n}, {"width", width}});
        report.sequential(reference);
        for (const PanelRung& row : rungs) {
            if (!options.wants(row.name, row.backend) || width > row.most) continue;
            for (const Device& device : options.devices(row.backend)) {
                if (!too_slow(options, row.name, device, problem.flops()).empty()) continue;
                report.add(gpulab::measure(
                               row.name, device, f, options,
                               [&](Factors& out, Stopwatch& watch) {
                                   if (!row.run) throw gpulab::Unsupported("built without CUDA");
                                   if (const std::string unmet = gpulab::unmet_need(row.needs, device); !unmet.empty())
                                       throw gpulab::Unsupported(unmet);
                                   row.run(problem, out, watch, width);
                               },
                               [&] { return compare(problem, f, true); }),
                           work(problem));
            }
        }
    }
}

std::vector<gpulab::StudySummary> study_list() {
    return {{"figure-3-10", "time and speed-up for n = 64 ... 4096, tiles 16 and 32", {}},
            {"growth", "pivoting: time per operation, from 16 x 16 to as large as fits or --n", {"--n"}},
            {"block", "the width of the panel", {"--n"}},
            {"pivoting", "what pivoting costs, and what it saves", {}},
            {"ladder", "every rung at n = 1024 ... 4096, those in blocks at 8192, with percent of the library", {}},
            {"update", "the update of one panel alone, beside the library's product", {}}};
}

std::span<const PanelRung> panel_rungs() {
    static const std::array rungs = {
        PanelRung{"cpu_blocked_pivot", Backend::cpu, cpu_blocked_of_width, 256},
        PanelRung{"cuda_blocked_pivot", Backend::cuda, GPULAB_IF_CUDA(cuda_blocked_of_width), 64},
        PanelRung{
            "cuda_cluster_pivot", Backend::cuda, GPULAB_IF_CUDA(cuda_cluster_of_width), 64, {.compute_capability = 90}},
    };
    return rungs;
}

int run_study(const Options& options, std::size_t n) {
    const double largest = options.study() == "block"                                          ? static_cast<double>(n)
                           : options.study() == "figure-3-10" || options.study() == "pivoting" ? 4096
                                                                                               : 8192;
    if (options.study() != "growth") // which ends where memory does
        gpulab::check_memory(options, 3 * 8 * largest * largest, 4 * 8 * largest * largest);
    Report report(options);
    if (options.study() == "figure-3-10") figure_3_10(options, report);
    else if (options.study() == "growth") growth(options, report, n);
    else if (options.study() == "block") block(options, report, n, panel_rungs());
    else if (options.study() == "pivoting") pivoting(options, report);
    else if (options.study() == "ladder") ladder(options, report);
    else update(options, report);
    return report.finish();
}

void PercentOfLibrary::add_to(Result& result, bool library, bool pivoting) {
    if (result.kernel.repeats == 0) return; // it did not run
    const std::pair key{result.device.id(), pivoting};
    if (library) library_ms_.emplace(key, result.kernel.median); // the first of several counts
    if (const auto found = library_ms_.find(key); found != library_ms_.end())
        result.extra.push_back({"percent_of_library", gpulab::percent_of_library(found->second, result.kernel.median)});
}

gpulab::Work update_work(std::size_t m, std::size_t width) {
    const auto rows = static_cast<double>(m), depth = static_cast<double>(width);
    return {.bytes = sizeof(double) * (2 * rows * rows + 2 * rows * depth),
            .flops = 2 * rows * rows * depth,
            .arithmetic = gpulab::Arithmetic::fp64};
}

std::string too_slow(const Options& options, std::string_view variant, const Device& device, double flops) {
    if (flops <= patience_flops) return "";
    return gpulab::too_slow_on_cpu(options, variant, device, fmt::format("{:.3g} operations", flops));
}

gpulab::Sequential sequential(const Problem& p) {
    if (p.flops() > patience_flops) return {};
    Factors f(p.n, p.count);
    if (p.count > 1) return gpulab::sequential(batch_variants(), "cpu_batch_sequential", p, f, Stopwatch(0, 1));
    return gpulab::sequential(variants(), "cpu_right_looking_pivot", p, f, Stopwatch(0, 1));
}

} // namespace lu
