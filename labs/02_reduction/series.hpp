/// @file
/// Two series summed in parallel (Alfaro Vigo & Rossetto, exercises 1.3 and 1.4). Nothing is read from memory: the
/// terms are computed where they are added.
#pragma once

#include "reduction.hpp"

namespace reduction {

/// Which series.
enum class Series {
    pi, ///< 4 (1 - 1/3 + 1/5 - 1/7 + ...) = pi (Madhava, Leibniz)
    log ///< x - x^2/2 + x^3/3 - ... = log(1 + x) for -1 < x <= 1 (Mercator)
};

/// The first `terms` terms of a series. @tparam T float or double
template <class T> struct SeriesProblem {
    Series series = Series::pi;
    T x = 1; ///< the argument of log(1 + x), in (-1, 1]; unused for pi
    std::size_t terms = 0;
    std::size_t size() const { return terms; }
};

/// Term i of the series, i = 0, 1, 2, ...: what all host code uses.
double series_term(Series series, double x, std::size_t i);

/// A variant: adds up the terms; 0 for none. It is timed like a SumRun.
template <class T> using SeriesRun = void(const SeriesProblem<T>& p, Scalar<T>& sum, Stopwatch& watch);

/// By compensated summation of the terms in double: the reference (of the partial sum, not of its limit).
template <class T> Expected<T> expected_series(const SeriesProblem<T>& p);

/// The limit of the series: pi or log(1 + x).
double series_limit(Series series, double x);

/// As for a sum, and on a device 40 units of roundoff for one term: an ulp is up to two units, the OpenCL standard
/// allows a power 16 ulp and a float division 2.5 ulp (CUDA stays below both), which makes 37; and rounding 2i + 1 to T
/// costs one. CPU variants and the reference take their terms from the same series_term(), so there nothing is added.
template <class T> double series_tolerance(gpulab::Backend backend, std::size_t n) {
    return tolerance<T>(backend, n, backend == gpulab::Backend::cpu ? 0 : 40);
}

/// The variants of this operation. @tparam T float or double
template <class T> std::span<const gpulab::Variant<SeriesRun<T>>> series_variants();

} // namespace reduction
