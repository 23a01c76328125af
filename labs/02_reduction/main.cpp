/// @file
/// Lab 02, reduction: sums, dot products, series and prefix sums with every variant on every device, checked against
/// compensated summation on the CPU.
#include <fmt/format.h>
#include <limits>

#include "dot.hpp"
#include "gpulab/error.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"
#include "gpulab/parallel.hpp"
#include "scan.hpp"
#include "series.hpp"
#include "studies.hpp"

namespace {

using namespace reduction;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;

gpulab::Parameters problem_of(const char* op, const char* type, std::size_t n) {
    return {{"op", op}, {"type", type}, {"n", n}};
}

/// The format in which no two different numbers of type T look alike, with room for an exponent.
template <class T> std::string all_digits() {
    constexpr int digits = std::numeric_limits<T>::max_digits10;
    return fmt::format("{{:{}.{}g}}", digits + 5, digits);
}

/// Adds the number that a variant computed to its result.
template <class T> void show(const Scalar<T>& out, Result& r) {
    if (r.kernel.repeats > 0) r.extra.push_back({"value", static_cast<double>(out[0])}); // otherwise it did not run
}

template <class T> int sum(const Options& options, std::size_t n) {
    const double bytes = sum_work<T>(n).bytes;
    gpulab::check_memory(options, bytes, bytes);
    const auto jobs = gpulab::jobs(sum_variants<T>(), options); // which variant runs where
    Report report(options, problem_of("sum", name_of_type<T>(), n));
    report.column("value", "sum", all_digits<T>());

    // The problem, the right answer, and the time of one loop on the CPU, to which the speed-ups refer.
    const SumProblem<T> problem = make_sum_problem<T>(n, options.seed());
    const Expected<T> expected = expected_sum(problem);
    Scalar<T> out(1);
    report.sequential(gpulab::sequential(sum_variants<T>(), "cpu_sequential", problem, out));

    for (const auto& job : jobs) { // each poisons `out`, runs its variant and checks the result
        report.doing(job.variant.name);
        const double allowed = tolerance<T>(job.variant.backend, n);
        Result r = gpulab::run(job, problem, out, options, [&] { return compare(expected, out, allowed); });
        show(out, r);
        report.add(std::move(r), sum_work<T>(n));
    }
    return report.finish();
}

template <class T> int dot(const Options& options, std::size_t n) {
    const auto size = static_cast<double>(n);
    gpulab::check_memory(options, 2 * sizeof(T) * size, 2 * sizeof(T) * size);
    const auto jobs = gpulab::jobs(dot_variants<T>(), options);
    Report report(options, problem_of("dot", name_of_type<T>(), n));
    report.column("value", "product", all_digits<T>());

    const DotProblem<T> problem = make_dot_problem<T>(n, options.seed());
    const Expected<T> expected = expected_dot(problem);
    Scalar<T> out(1);
    report.sequential(gpulab::sequential(dot_variants<T>(), "cpu_dot", problem, out));
    for (const auto& job : jobs) {
        report.doing(job.variant.name);
        const double allowed = dot_tolerance<T>(job.variant.backend, n);
        Result r = gpulab::run(job, problem, out, options, [&] { return compare(expected, out, allowed); });
        show(out, r);
        report.add(std::move(r), {.bytes = 2 * sizeof(T) * size, .flops = 2 * size});
    }
    return report.finish();
}

template <class T> int series(const Options& options, Series which, double x, std::size_t terms) {
    const SeriesProblem<T> problem{which, static_cast<T>(x), terms};
    const auto jobs = gpulab::jobs(series_variants<T>(), options);
    gpulab::Parameters parameters = problem_of(which == Series::pi ? "pi" : "log", name_of_type<T>(), terms);
    if (which == Series::log) parameters.push_back({"x", static_cast<double>(problem.x)});
    Report report(options, parameters);
    report.column("value", "value", all_digits<T>());
    report.column("distance_to_limit", "to limit", "{:.1e}");

    const Expected<T> expected = expected_series(problem);
    const double limit = series_limit(which, problem.x);
    Scalar<T> out(1);
    report.sequential(gpulab::sequential(series_variants<T>(), "cpu_series", problem, out));
    // Nothing moves. A term of pi takes a division and an addition; its denominator and sign are whole numbers. The
    // number of operations of a power depends on the library, so those of the logarithm are not counted.
    gpulab::Work work;
    if (which == Series::pi) {
        work.flops = 2.0 * static_cast<double>(terms);
        work.arithmetic = std::is_same_v<T, double> ? gpulab::Arithmetic::fp64 : gpulab::Arithmetic::fp32;
    }
    for (const auto& job : jobs) {
        report.doing(job.variant.name);
        const double allowed = series_tolerance<T>(job.variant.backend, terms);
        Result r = gpulab::run(job, problem, out, options, [&] { return compare(expected, out, allowed); });
        show(out, r);
        if (r.kernel.repeats > 0)
            r.extra.push_back({"distance_to_limit", std::abs(static_cast<double>(out[0]) - limit)});
        report.add(std::move(r), work);
    }
    return report.finish();
}

template <class T> int scan(const Options& options, Scan kind, std::size_t n) {
    const auto size = static_cast<double>(n);
    gpulab::check_memory(options, 2 * sizeof(T) * size, 3 * sizeof(T) * size);
    const auto jobs = gpulab::jobs(scan_variants<T>(), options);
    Report report(options,
                  problem_of(kind == Scan::inclusive ? "inclusive-scan" : "exclusive-scan", name_of_type<T>(), n));

    const ScanProblem<T> problem = make_scan_problem<T>(kind, n, options.seed());
    const Prefixes<T> expected = expected_scan(problem);
    Prefixes<T> out = gpulab::zeros<T>(n);
    report.sequential(gpulab::sequential(scan_variants<T>(), "cpu_scan", problem, out));
    for (const auto& job : jobs) {
        report.doing(job.variant.name);
        const double allowed = scan_tolerance<T>(job.variant.backend, n);
        report.add(gpulab::run(job, problem, out, options, [&] { return compare(problem, expected, out, allowed); }),
                   {.bytes = 2 * sizeof(T) * size, .flops = size});
    }
    return report.finish();
}

/// One operation on one element type.
template <class T> int run(const Options& options, const std::string& op, double x, std::size_t n) {
    if (op == "inclusive-scan") return scan<T>(options, Scan::inclusive, n);
    if (op == "exclusive-scan") return scan<T>(options, Scan::exclusive, n);
    if constexpr (std::is_floating_point_v<T>) {
        if (op == "dot") return dot<T>(options, n);
        if (op == "pi") return series<T>(options, Series::pi, x, n);
        if (op == "log") return series<T>(options, Series::log, x, n);
        return sum<T>(options, n);
    }
    throw gpulab::UsageError("--type int is for prefix sums only; --op " + op + " takes float or double");
}

} // namespace

int main(int argc, char** argv) try {
    std::size_t n = std::size_t{1} << 24;
    std::string op = "sum", type = "float";
    double x = 1;
    Options options("reduction", "many numbers into one: sums, dot products, series, prefix sums");
    options.size("--n", n, 0, "elements, or terms of the series");
    options.choice("--op", op, {"sum", "dot", "inclusive-scan", "exclusive-scan", "pi", "log"}, "what to compute");
    options.choice("--type", type, {"float", "double", "int"}, "of the elements; int for prefix sums only");
    options.number("--x", x, -1, 1, "argument of log(1 + x), above -1");
    options.small("--n", n, 1 << 16);
    options.variants(sum_variants<float>());
    options.variants(dot_variants<float>());
    options.variants(series_variants<float>());
    options.variants(scan_variants<float>());
    options.studies(study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered
    if (x <= -1 || (type == "float" && static_cast<float>(x) <= -1))
        throw gpulab::UsageError("--x: log(1 + x) needs x > -1 (also when rounded to the type)");
    if (options.given("--x") && op != "log") throw gpulab::UsageError("--x is the argument of --op log only");
    if ((op == "pi" || op == "log") && n > 10'000'000'000)
        throw gpulab::UsageError("--n: a series of more than 1e10 terms would keep the reference busy for minutes");

    if (!options.study().empty()) return run_study(options, type, n);
    if (type == "int") return run<int>(options, op, x, n);
    return type == "double" ? run<double>(options, op, x, n) : run<float>(options, op, x, n);
} catch (...) {
    return gpulab::fail("reduction");
}
