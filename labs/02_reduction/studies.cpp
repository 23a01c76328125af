#include "studies.hpp"

#include <fmt/format.h>
#include <map>
#include <tuple>

#include "gpulab/growth.hpp"
#include "gpulab/metrics.hpp"
#include "operations.hpp"
#include "transfers.hpp"

namespace reduction {

using gpulab::Backend;
using gpulab::Device;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;

namespace {

/// Measures jobs of the sum for n random numbers.
/// @param growth of the study `growth`, which chooses the jobs when problem and reference are ready, or null
template <class T>
void measure_sums(const Options& options, Report& report, const SumOf<T>& op, gpulab::Growth* growth = nullptr) {
    const SumProblem<T> problem = op.problem(options.seed());
    const Expected<T> expected = op.expected(problem);
    Scalar<T> sum(1);
    report.begin({{"op", "sum"}, {"type", name_of_type<T>()}, {"n", op.n}});
    report.sequential(gpulab::sequential(op.variants(), op.sequential, problem, sum));
    for (const auto& job : growth ? growth->jobs(op.variants()) : gpulab::jobs(op.variants(), options)) {
        report.doing(job.variant.name);
        const double allowed = op.allowed(job.variant.backend);
        Result r = gpulab::run(job, problem, sum, options, [&] { return compare(expected, sum, allowed); });
        if (growth) growth->add_to(r);
        report.add(std::move(r), op.work());
    }
}

/// Time per element from 16 elements on, as far as memory and patience go.
template <class T> void growth(const Options& options, Report& report, std::size_t most) {
    gpulab::Growth growth(options, report, "element",
                          {"cpu_sequential", "cpu_threads_atomic", "opencl_vectorised", "opencl_cpu_ranges",
                           "cuda_grid_stride", "cuda_vectorised", "cuda_single_pass", "cuda_atomics", "cuda_cub",
                           "cuda_cub_mapped"});
    report.column("n", "n");
    for (const std::size_t n : growth.sizes("--n", most, 16, 4, std::size_t{1} << 36)) {
        const SumOf<T> op{n};
        if (!growth.fits(fmt::format("n = {}", n), op.size(), op.work().bytes, op.host_bytes())) break;
        measure_sums(options, report, op, &growth);
    }
}

/// Every rung of the sum at one n; the percentages are of the copy bandwidth measured in this run.
template <class T> void ladder(const Options& options, Report& report, const SumOf<T>& op) {
    gpulab::check_memory(options, op.work().bytes, op.host_bytes());
    measure_sums(options, report, op);
}

/// Exercise 2.2 of the book: the dot product by the kernel alone, and with the copies of the vectors to the device.
template <class T> void transfers(const Options& options, Report& report) {
    const std::vector<Device> devices = gpulab::study_devices(options, {Backend::opencl, Backend::cuda});
    report.quiet(true);
    std::map<std::string, std::vector<TransferRow>> rows; // by device
    for (std::size_t n = 100; n <= 10'000'000; n *= 10) {
        const DotOf<T> op{n};
        const DotProblem<T> problem = op.problem(options.seed());
        const Expected<T> expected = op.expected(problem);
        Scalar<T> dot(1);
        const gpulab::Sequential sequential = gpulab::sequential(op.variants(), op.sequential, problem, dot);
        report.begin({{"op", "dot"}, {"type", name_of_type<T>()}, {"n", n}});
        report.sequential(sequential);
        for (const Device& device : devices) {
            const auto time_of = [&](const std::string& name, DotRun<T>* run, const gpulab::Work& work) {
                Result r = gpulab::measure(
                    name, device, dot, options,
                    [&](Scalar<T>& out, Stopwatch& watch) {
                        if (std::is_same_v<T, double> && !device.fp64) throw gpulab::Unsupported("no double precision");
                        run(problem, out, watch);
                    },
                    [&] { return compare(expected, dot, op.allowed(device.backend)); });
                return report.add(std::move(r), work).kernel.median;
            };
            const bool cuda = device.backend == Backend::cuda;
            const std::string back_end(name_of(device.backend));
            const double kernel_ms =
                time_of(back_end + "_dot", gpulab::run_of(op.variants(), back_end + "_dot"), op.work());
            gpulab::Work of_link = op.work(); // most of the time passes on the link, not in the device's memory
            of_link.bytes = 0;
            const double copies_ms = time_of(
                back_end + "_copies_and_dot",
                cuda ? GPULAB_IF_CUDA(cuda_copies_and_dot<T>) : GPULAB_IF_OPENCL(opencl_copies_and_dot<T>), of_link);
            rows[device.id()].push_back({n, sequential.ms, kernel_ms, copies_ms});
        }
    }
    for (const Device& device : devices) {
        const std::string title = fmt::format("{}  {}, dot product of {}s, kernel alone and with the transfers",
                                              device.id(), device.name, name_of_type<T>());
        fmt::print("\n{}{}", gpulab::wrapped(title, gpulab::terminal_of_stdout().columns, 0, 4),
                   text_of(rows[device.id()]));
    }
}

/// Exercise 1.4 of the book: log(1 + x) at x = 1 with the table's numbers of terms, on 1, 2, 4, ... CPU threads.
void table_1_1(const Options& options, Report& report) {
    const Device cpu = gpulab::study_devices(options, {Backend::cpu}).front();
    report.column("terms", "terms");
    report.column("threads", "threads");
    report.column("efficiency", "efficiency");
    const auto most = static_cast<std::size_t>(gpulab::hardware_threads());
    for (const std::size_t terms : {1'000'000, 10'000'000, 20'000'000}) {
        const SeriesProblem<double> problem{Series::log, 1, terms};
        const Expected<double> expected = expected_series(problem);
        const double tolerance = series_tolerance<double>(Backend::cpu, terms);
        Scalar<double> sum(1);
        const gpulab::Sequential sequential = gpulab::sequential(series_variants<double>(), "cpu_series", problem, sum);
        for (std::size_t p = 1;; p = std::min(2 * p, most)) {
            report.begin({{"op", "log"}, {"terms", terms}, {"threads", p}});
            report.sequential(sequential);
            Result r = gpulab::measure(
                "cpu_series_threads", cpu, sum, options,
                [&](Scalar<double>& out, Stopwatch& watch) { cpu_series_of(problem, out, watch, p); },
                [&] { return compare(expected, sum, tolerance); });
            r.extra = {{"efficiency", gpulab::efficiency(sequential.ms, r.kernel.median, static_cast<int>(p))}};
            report.add(std::move(r), {});
            if (p == most) break;
        }
    }
}

/// Program 1.8 of the book without mutual exclusion, beside an atomic addition. Any unprotected count from 1 to n is
/// possible, so the files say "passed" of all of these; the table shows what was lost instead of a verdict.
void lost_update(const Options& options, Report& report, std::size_t n) {
    constexpr std::size_t most = std::size_t{1} << 24;
    if (n < 1 || n > most) throw gpulab::UsageError("--n: the study lost-update takes 1 to 2^24 additions");
    report.quiet(true);
    report.begin({{"additions", n}});
    const Count expected(1, static_cast<std::uint32_t>(n));
    Count count(1);
    for (const Device& device : gpulab::study_devices(options, {Backend::cpu, Backend::opencl, Backend::cuda})) {
        const std::string title = fmt::format("{}  {}, additions of 1 to one number", device.id(), device.name);
        fmt::print("\n{}", gpulab::wrapped(title, gpulab::terminal_of_stdout().columns, 0, 4));
        fmt::print("{:<18} {:>10} {:>10} {:>10} {:>10}\n", "addition", "expected", "found", "lost", "kernel ms");
        CountRun* const run = device.backend == Backend::cpu      ? cpu_count
                              : device.backend == Backend::opencl ? GPULAB_IF_OPENCL(opencl_count)
                                                                  : GPULAB_IF_CUDA(cuda_count);
        for (const auto& [addition, name, tolerance] :
             {std::tuple{Addition::unprotected, "unprotected", static_cast<double>(n - 1)},
              {Addition::atomic, "atomic", 0.0}}) {
            Result r = gpulab::measure(
                fmt::format("{}_{}", name_of(device.backend), name), device, count, options,
                [&, how = addition](Count& c, Stopwatch& watch) { run(n, how, c, watch); },
                [&, allowed = tolerance] { return gpulab::compare(expected, count, allowed); });
            r.extra = {{"found", count[0]}, {"lost", lost(n, count[0])}};
            fmt::print("{:<18} {:>10} {:>10} {:>10} {:>10.4f}\n", r.variant, n, count[0], lost(n, count[0]),
                       r.kernel.median);
            report.add(std::move(r), {});
        }
    }
    fmt::print("\nAny count of unprotected additions passes as right below.\n");
}

template <class T> int run_study_of(const Options& options, std::size_t n) {
    Report report(options);
    if (options.study() == "growth") growth<T>(options, report, n);
    if (options.study() == "ladder") ladder<T>(options, report, {n});
    if (options.study() == "transfers") transfers<T>(options, report);
    return report.finish();
}

} // namespace

std::string text_of(const std::vector<TransferRow>& rows) {
    std::string text = fmt::format("{:>43} {:>17} {:>18}\n", "", "speed-up", "GFLOP/s");
    text += fmt::format("{:>8} {:>13} {:>10} {:>9} {:>8} {:>8} {:>10} {:>7}\n", "n", "sequential ms", "kernel ms",
                        "copies ms", "kernel", "copies", "sequential", "copies");
    for (const TransferRow& row : rows) {
        const double flops = 2.0 * static_cast<double>(row.n);
        text += fmt::format("{:>8} {:>13.4f} {:>10.4f} {:>9.4f} {:>8.2f} {:>8.2f} {:>10.2f} {:>7.2f}\n", row.n,
                            row.sequential_ms, row.kernel_ms, row.total_ms,
                            gpulab::speedup(row.sequential_ms, row.kernel_ms),
                            gpulab::speedup(row.sequential_ms, row.total_ms),
                            gpulab::gflop_per_s(flops, row.sequential_ms), gpulab::gflop_per_s(flops, row.total_ms));
    }
    return text;
}

std::vector<gpulab::StudySummary> study_list() {
    return {{"growth", "the sum: time per element, from 16 elements to as many as fit or --n", {"--n", "--type"}},
            {"ladder", "every variant of the sum at --n, in percent of the copy bandwidth", {"--n", "--type"}},
            {"transfers", "dot product, n = 10^2 ... 10^7: the kernel alone, and with the copies", {"--type"}},
            {"table-1-1", "log(1 + x) on 1, 2, 4, ... CPU threads: speed-up and efficiency", {}},
            {"lost-update", "additions to one number without protection: wrong, and how wrong", {"--n"}}};
}

int run_study(const Options& options, const std::string& type, std::size_t n) {
    if (options.study() == "lost-update" || options.study() == "table-1-1") { // neither has a type
        Report report(options);
        if (options.study() == "table-1-1") table_1_1(options, report);
        else lost_update(options, report, n);
        return report.finish();
    }
    if (type == "int")
        throw gpulab::UsageError("--type int is for prefix sums only; the studies add floats or doubles");
    return type == "double" ? run_study_of<double>(options, n) : run_study_of<float>(options, n);
}

} // namespace reduction
