/// @file
/// The judge of this lab's exercises. Fields of a case: op, type, n, `numbers` (see numbers() below) and, for prefix
/// sums, `scan`; for histograms `bins` and `numbers`, see HistogramTask.
#include "gpulab/grading/judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exercises/tasks.hpp"
#include "gpulab/input.hpp"

namespace reduction {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

/// The numbers of a case: "positive" in (0, 1), "cancelling" (each with its negative), "whole" (from -3 to 3; no sum of
/// them rounds), "one NaN" or "one infinity" among positive ones, at the place `at`, "denormals" (no sum of them
/// rounds).
template <class T> std::vector<T> numbers(const Case& c, std::uint64_t seed) {
    const auto n = field<std::size_t>(c, "n", 0);
    const auto kind = field<std::string>(c, "numbers", "positive");
    std::vector<T> a(n);
    if (kind == "whole" || std::is_integral_v<T>) {
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint64_t bits = gpulab::random_bits(seed, i);
            a[i] = static_cast<T>(bits % 2 == 0 ? 1 : -1) * static_cast<T>(1 + bits / 2 % 3);
        }
        return a;
    }
    if constexpr (std::is_floating_point_v<T>) {
        a = gpulab::random_vector<T>(n, seed, T{0}, T{1});
        const auto at = std::min(field<std::size_t>(c, "at", n / 2), n > 0 ? n - 1 : 0);
        if (kind == "cancelling")
            for (std::size_t i = 0; i < n / 2; ++i) a[n - 1 - i] = -a[i];
        else if (kind == "one NaN" && n > 0) a[at] = std::numeric_limits<T>::quiet_NaN();
        else if (kind == "one infinity" && n > 0) a[at] = std::numeric_limits<T>::infinity();
        else if (kind == "denormals")
            for (std::size_t i = 0; i < n; ++i)
                a[i] = static_cast<T>(1 + gpulab::random_bits(seed, i) % 3) * std::numeric_limits<T>::denorm_min();
        else if (kind != "positive") throw gpulab::UsageError("no numbers are called " + kind);
    }
    return a;
}

/// Compares one number. A NaN or an infinity that is expected must be there.
template <class T>
gpulab::Comparison check_number(const Case& c, const Expected<T>& expected, const Scalar<T>& out, double tolerance) {
    const T value = expected.value[0];
    if (std::isfinite(value))
        return compare(expected, out, field<std::string>(c, "numbers", "") == "whole" ? 0 : tolerance);
    gpulab::Comparison comparison;
    comparison.passed =
        out.size() == 1 && !gpulab::is_poison(out[0]) && (std::isnan(value) ? std::isnan(out[0]) : out[0] == value);
    if (!comparison.passed)
        comparison.message =
            std::isnan(value) ? "a NaN among the numbers was lost" : "an infinity among the numbers was lost";
    return comparison;
}

/// The largest tolerance of a device's rungs holds for every back end.
constexpr auto device = gpulab::Backend::opencl;

template <class T> struct SumTask : Sum<T> {
    static SumProblem<T> make(const Case& c, std::uint64_t seed) { return {numbers<T>(c, seed)}; }
    static gpulab::Comparison check(const Case& c, const SumProblem<T>& p, const Scalar<T>& out) {
        return check_number(c, expected_of(p), out, tolerance<T>(device, p.size()));
    }
    static Expected<T> expected_of(const SumProblem<T>& p) {
        for (const T x : p.a) // compensated summation is for finite numbers
            if (!std::isfinite(x)) return {{x}, 0};
        return expected_sum(p);
    }
};

template <class T> struct DotTask : Dot<T> {
    static DotProblem<T> make(const Case& c, std::uint64_t seed) {
        Case other = c;
        const auto kind = field<std::string>(c, "numbers", "");
        const bool zero = kind == "zero times NaN"; // the factors at the place `at`
        if (kind != "whole") other["numbers"] = zero ? "one NaN" : "positive";
        Case first = c;
        if (zero) first["numbers"] = "positive";
        DotProblem<T> p{numbers<T>(first, seed), numbers<T>(other, seed + 7)};
        if (zero)
            for (std::size_t i = 0; i < p.b.size(); ++i)
                if (std::isnan(p.b[i])) p.a[i] = 0;
        return p;
    }
    static gpulab::Comparison check(const Case& c, const DotProblem<T>& p, const Scalar<T>& out) {
        for (const std::vector<T>* factors :
             {&p.a, &p.b}) // what the NaN or the infinity meets is positive, or 0 times NaN
            for (const T x : *factors)
                if (!std::isfinite(x)) return check_number(c, Expected<T>{{x}, 0}, out, 0);
        return check_number(c, expected_dot(p), out, dot_tolerance<T>(device, p.size()));
    }
};

template <class T> struct ScanTask : PrefixSum<T> {
    static ScanProblem<T> make(const Case& c, std::uint64_t seed) {
        const bool exclusive = field<std::string>(c, "scan", "inclusive") == "exclusive";
        return {exclusive ? Scan::exclusive : Scan::inclusive, numbers<T>(c, seed)};
    }
    static gpulab::Comparison check(const Case& c, const ScanProblem<T>& p, const Prefixes<T>& out) {
        const bool whole = field<std::string>(c, "numbers", "") == "whole";
        return compare(p, expected_scan(p), out, whole ? 0 : scan_tolerance<T>(device, p.size()));
    }
};

template <class T> struct HistogramTask : Histogram<T> {
    /// The numbers of a case: "anywhere" in all bins, "on the borders" (of a bin the least and the greatest number),
    /// "one bin" (all in the one with the number `at`).
    static HistogramProblem<T> make(const Case& c, std::uint64_t seed) {
        const auto n = field<std::size_t>(c, "n", 0);
        const auto bins = field<unsigned>(c, "bins", 256);
        const auto kind = field<std::string>(c, "numbers", "anywhere");
        HistogramProblem<T> p = make_histogram_problem<T>(n, bins, seed);
        if (kind == "on the borders")
            for (std::size_t i = 0; i < n; ++i) {
                const T least = std::floor(p.a[i]);
                p.a[i] = gpulab::random_bits(seed, i) % 2 == 0 ? least : std::nextafter(least + 1, T{0});
            }
        else if (kind == "one bin") p.a.assign(n, static_cast<T>(field<unsigned>(c, "at", 0)));
        else if (kind != "anywhere") throw gpulab::UsageError("no numbers are called " + kind);
        return p;
    }
    static gpulab::Comparison check(const Case&, const HistogramProblem<T>& p, const Counts& out) {
        return gpulab::compare(expected_histogram(p), out, 0);
    }
};

} // namespace

} // namespace reduction

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace reduction;
    judge.add<SumTask, float, double>("sum");
    judge.add<DotTask, float, double>("dot");
    judge.add<ScanTask, float, double, int>("scan");
    judge.add<HistogramTask, float, double>("histogram");
}
