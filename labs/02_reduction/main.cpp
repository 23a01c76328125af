/// @file
/// Lab 02, reduction: sums, dot products, series, prefix sums and histograms with every variant on every device,
/// checked against compensated summation and whole numbers on the CPU.
#include <fmt/format.h>
#include <limits>

#include "gpulab/gpus_first.hpp"
#include "gpulab/jobs.hpp"
#include "operations.hpp"
#include "studies.hpp"

namespace {

using namespace reduction;
using gpulab::Options;

/// One operation on one element type. @param more parameters of the problem
template <class Operation>
int compute(const Options& options, const std::string& name, const Operation& op, const gpulab::Parameters& more = {}) {
    using T = typename Operation::Element;
    gpulab::check_memory(options, op.work().bytes, op.host_bytes());
    const auto jobs = gpulab::gpus_first(gpulab::jobs(op.variants(), options), options); // which variant runs where
    gpulab::Parameters parameters = {{"op", name}, {"type", name_of_type<T>()}, {"n", op.n}};
    parameters.insert(parameters.end(), more.begin(), more.end());
    gpulab::Report report(options, parameters);
    constexpr int digits = std::numeric_limits<T>::max_digits10; // no two different numbers look alike
    if (op.heading) report.column("value", op.heading, fmt::format("{{:{}.{}g}}", digits + 5, digits));
    if (name == "pi" || name == "log") report.column("distance_to_limit", "to limit", "{:.1e}");

    // The problem, the right answer, and the time of one loop on the CPU, to which the speed-ups refer.
    const auto problem = op.problem(options.seed());
    const auto expected = op.expected(problem);
    auto out = op.room();
    report.sequential(gpulab::sequential(op.variants(), op.sequential, problem, out));

    for (const auto& job : jobs) { // each poisons `out`, runs its variant and checks the result
        report.doing(job.variant.name);
        const double allowed = op.allowed(job.variant.backend);
        gpulab::Result r =
            gpulab::run(job, problem, out, options, [&] { return op.judge(problem, expected, out, allowed); });
        if (r.kernel.repeats > 0) r.extra = op.figures(out); // otherwise it did not run
        report.add(std::move(r), op.work());
    }
    return report.finish();
}

/// The operation of --op.
template <class T> int run(const Options& options, const std::string& op, double x, std::size_t n, std::size_t bins) {
    if (op == "inclusive-scan") return compute(options, op, ScanOf<T>{n, Scan::inclusive});
    if (op == "exclusive-scan") return compute(options, op, ScanOf<T>{n, Scan::exclusive});
    if constexpr (std::is_floating_point_v<T>) {
        const T rounded = static_cast<T>(x);
        if (op == "dot") return compute(options, op, DotOf<T>{n});
        if (op == "histogram")
            return compute(options, op, HistogramOf<T>{n, static_cast<unsigned>(bins)}, {{"bins", bins}});
        if (op == "pi") return compute(options, op, SeriesOf<T>{n});
        if (op == "log")
            return compute(options, op, SeriesOf<T>{n, Series::log, rounded}, {{"x", static_cast<double>(rounded)}});
        return compute(options, op, SumOf<T>{n});
    }
    throw gpulab::UsageError("--type int is for prefix sums only; --op " + op + " takes float or double");
}

} // namespace

int main(int argc, char** argv) try {
    std::size_t n = std::size_t{1} << 24, bins = 256;
    std::string op = "sum", type = "float";
    double x = 1;
    Options options("reduction", "many numbers into one: sums, dot products, series; prefix sums, histograms");
    options.size("--n", n, 0, "elements, or terms of the series");
    options.choice("--op", op, {"sum", "dot", "inclusive-scan", "exclusive-scan", "histogram", "pi", "log"},
                   "what to compute");
    options.choice("--type", type, {"float", "double", "int"}, "of the elements; int for prefix sums only");
    options.number("--x", x, -1, 1, "argument of log(1 + x), above -1");
    options.size("--bins", bins, 1, "bins of a histogram", max_bins);
    options.small("--n", n, 1 << 16);
    options.variants(sum_variants<float>());
    options.variants(optional_sum_variants<float>());
    options.variants(dot_variants<float>());
    options.variants(series_variants<float>());
    options.variants(scan_variants<float>());
    options.variants(histogram_variants<float>());
    options.studies(study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered
    if (x <= -1 || (type == "float" && static_cast<float>(x) <= -1))
        throw gpulab::UsageError("--x: log(1 + x) needs x > -1 (also when rounded to the type)");
    if (options.given("--x") && op != "log") throw gpulab::UsageError("--x is the argument of --op log only");
    if (options.given("--bins") && op != "histogram")
        throw gpulab::UsageError("--bins are those of --op histogram only");
    if (op == "histogram" && n >= std::size_t{1} << 32)
        throw gpulab::UsageError("--n: the counts of a histogram have 32 bits, so n must be below 2^32");
    if ((op == "pi" || op == "log") && n > 10'000'000'000)
        throw gpulab::UsageError("--n: a series of more than 1e10 terms would keep the reference busy for minutes");

    if (!options.study().empty()) return run_study(options, type, n);
    if (type == "int") return run<int>(options, op, x, n, bins);
    return type == "double" ? run<double>(options, op, x, n, bins) : run<float>(options, op, x, n, bins);
} catch (...) {
    return gpulab::fail("reduction");
}
