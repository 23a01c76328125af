/// @file
/// Histograms: how many numbers lie in each bin.
#pragma once

#include "reduction.hpp"

namespace reduction {

/// The most bins. Shared memory of 32 KiB, which every device has, holds their counts 16 times.
inline constexpr unsigned max_bins = 512;

/// Numbers to count. @tparam T float or double
template <class T> struct HistogramProblem {
    unsigned bins = 256; ///< at least 1, at most max_bins
    std::vector<T> a;    ///< in [0, bins); x belongs to bin number x without its fraction
    std::size_t size() const { return a.size(); }
};

/// How many numbers belong to each bin.
using Counts = std::vector<std::uint32_t>;

/// A variant: from host data to host data. The time is that of setting the counts to zero and of the kernel; the counts
/// stay on the device. @pre fewer than 2^32 numbers
template <class T> using HistogramRun = void(const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch);

/// n random numbers in [0, bins). All bins are equally likely.
template <class T> HistogramProblem<T> make_histogram_problem(std::size_t n, unsigned bins, std::uint64_t seed);

/// By one loop in 64-bit integers: the reference. Every variant must agree exactly.
template <class T> Counts expected_histogram(const HistogramProblem<T>& p);

/// The variants of this operation. @tparam T float or double
template <class T> std::span<const gpulab::Variant<HistogramRun<T>>> histogram_variants();

#define RUNG(backend, if_built, function, ...) template <class T> HistogramRun<T> function;
#include "rungs_histogram.inc"
#undef RUNG

} // namespace reduction
