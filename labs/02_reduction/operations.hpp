/// @file
/// The operations of --op as main() sees them: data, right answer, tolerance and work, under the same names.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "dot.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/report.hpp"
#include "histogram.hpp"
#include "optional_sums.hpp"
#include "scan.hpp"
#include "series.hpp"

namespace reduction {

/// What operations have in common whose result is one number. Their members:
///   - variants(), and `sequential`, the one to which speed-ups refer
///   - problem(seed), expected(problem) and room(), the data, the right answer and an output
///   - allowed(back end), the tolerance, with which judge() compares
///   - work(), and host_bytes(), the memory that data and output take
///   - figures(output), for the table, where `heading` is that of the column "value"
template <class T> struct OneNumber {
    using Element = T;
    std::size_t n = 0;
    double size() const { return static_cast<double>(n); }
    static Scalar<T> room() { return Scalar<T>(1); }
    template <class Problem>
    static auto judge(const Problem&, const Expected<T>& expected, const Scalar<T>& out, double allowed) {
        return compare(expected, out, allowed);
    }
    gpulab::Parameters figures(const Scalar<T>& out) const { return {{"value", static_cast<double>(out[0])}}; }
};

/// The sum of n numbers.
template <class T> struct SumOf : OneNumber<T> {
    static constexpr const char *sequential = "cpu_sequential", *heading = "sum";
    static auto variants() {
        std::vector<gpulab::Variant<SumRun<T>>> all(sum_variants<T>().begin(), sum_variants<T>().end());
        const auto optional = optional_sum_variants<T>();
        all.insert(all.end(), optional.begin(), optional.end());
        return all;
    }
    auto problem(std::uint64_t seed) const { return make_sum_problem<T>(this->n, seed); }
    static auto expected(const SumProblem<T>& p) { return expected_sum(p); }
    double allowed(gpulab::Backend backend) const { return tolerance<T>(backend, this->n); }
    gpulab::Work work() const { return {.bytes = sizeof(T) * this->size(), .flops = this->size()}; }
    double host_bytes() const { return work().bytes; }
};

/// The dot product of two vectors of n numbers.
template <class T> struct DotOf : OneNumber<T> {
    static constexpr const char *sequential = "cpu_dot", *heading = "product";
    static auto variants() { return dot_variants<T>(); }
    auto problem(std::uint64_t seed) const { return make_dot_problem<T>(this->n, seed); }
    static auto expected(const DotProblem<T>& p) { return expected_dot(p); }
    double allowed(gpulab::Backend backend) const { return dot_tolerance<T>(backend, this->n); }
    gpulab::Work work() const { return {.bytes = 2 * sizeof(T) * this->size(), .flops = 2 * this->size()}; }
    double host_bytes() const { return work().bytes; }
};

/// The first n terms of a series.
template <class T> struct SeriesOf : OneNumber<T> {
    Series which = Series::pi;
    T x = 1;
    static constexpr const char *sequential = "cpu_series", *heading = "value";
    static auto variants() { return series_variants<T>(); }
    auto problem(std::uint64_t) const { return SeriesProblem<T>{which, x, this->n}; }
    static auto expected(const SeriesProblem<T>& p) { return expected_series(p); }
    double allowed(gpulab::Backend backend) const { return series_tolerance<T>(backend, this->n); }
    /// Nothing moves. A term of pi takes a division and an addition; its denominator and sign are whole numbers. The
    /// number of operations of a power depends on the library, so those of the logarithm are not counted.
    gpulab::Work work() const {
        if (which == Series::log) return {};
        return {.flops = 2 * this->size(),
                .arithmetic = sizeof(T) == 8 ? gpulab::Arithmetic::fp64 : gpulab::Arithmetic::fp32};
    }
    static double host_bytes() { return 0; }
    gpulab::Parameters figures(const Scalar<T>& out) const {
        const double value = out[0];
        return {{"value", value}, {"distance_to_limit", std::abs(value - series_limit(which, x))}};
    }
};

/// The prefix sums of n numbers.
template <class T> struct ScanOf {
    using Element = T;
    std::size_t n = 0;
    Scan kind = Scan::inclusive;
    static constexpr const char *sequential = "cpu_scan", *heading = nullptr;
    static auto variants() { return scan_variants<T>(); }
    auto problem(std::uint64_t seed) const { return make_scan_problem<T>(kind, n, seed); }
    static auto expected(const ScanProblem<T>& p) { return expected_scan(p); }
    Prefixes<T> room() const { return gpulab::zeros<T>(n); }
    double allowed(gpulab::Backend backend) const { return scan_tolerance<T>(backend, n); }
    static auto judge(const ScanProblem<T>& p, const Prefixes<T>& expected, const Prefixes<T>& out, double allowed) {
        return compare(p, expected, out, allowed);
    }
    gpulab::Work work() const {
        const auto size = static_cast<double>(n);
        return {.bytes = 2 * sizeof(T) * size, .flops = size};
    }
    double host_bytes() const { return 3 * sizeof(T) * static_cast<double>(n); }
    static gpulab::Parameters figures(const Prefixes<T>&) { return {}; }
};

/// The histogram of n numbers.
template <class T> struct HistogramOf {
    using Element = T;
    std::size_t n = 0;
    unsigned bins = 256;
    static constexpr const char *sequential = "cpu_histogram", *heading = nullptr;
    static auto variants() { return histogram_variants<T>(); }
    auto problem(std::uint64_t seed) const { return make_histogram_problem<T>(n, bins, seed); }
    static auto expected(const HistogramProblem<T>& p) { return expected_histogram(p); }
    Counts room() const { return Counts(bins); }
    static double allowed(gpulab::Backend) { return 0; }
    static auto judge(const HistogramProblem<T>&, const Counts& expected, const Counts& out, double allowed) {
        return gpulab::compare(expected, out, allowed);
    }
    gpulab::Work work() const { return {.bytes = sizeof(T) * static_cast<double>(n)}; }
    double host_bytes() const { return work().bytes; }
    static gpulab::Parameters figures(const Counts&) { return {}; }
};

} // namespace reduction
