/// @file
/// Prefix sums of any length (Alfaro Vigo & Rossetto, exercise 2.3).
#pragma once

#include "reduction.hpp"

namespace reduction {

/// Whether prefix sum i includes element i.
enum class Scan {
    inclusive, ///< out[i] = a[0] + ... + a[i]
    exclusive  ///< out[i] = a[0] + ... + a[i-1], out[0] = 0
};

/// Numbers whose prefix sums are wanted. @tparam T float, double or int
template <class T> struct ScanProblem {
    Scan kind = Scan::inclusive;
    std::vector<T> a;
    std::size_t size() const { return a.size(); }
};

/// The prefix sums, as many as there are numbers.
template <class T> using Prefixes = std::vector<T>;

/// A variant: from host data to host data. The time is that of the kernels; the result stays on the device.
template <class T> using ScanRun = void(const ScanProblem<T>& p, Prefixes<T>& out, Stopwatch& watch);

/// n random numbers in (0, 1), or whole numbers in [-1000, 1000] without 0, whose sums stay far from overflow.
template <class T> ScanProblem<T> make_scan_problem(Scan kind, std::size_t n, std::uint64_t seed);

/// By compensated summation in double (in 64-bit integers for int): the reference.
template <class T> Prefixes<T> expected_scan(const ScanProblem<T>& p);

/// As for a sum of n elements; integers must be exact.
template <class T> double scan_tolerance(gpulab::Backend backend, std::size_t n) {
    if constexpr (std::is_integral_v<T>) return 0;
    else return tolerance<T>(backend, n);
}

/// Compares every prefix, each on the scale of the absolute values that were added to get it.
template <class T>
gpulab::Comparison compare(const ScanProblem<T>& p, const Prefixes<T>& expected, const Prefixes<T>& actual,
                           double tolerance);

/// The variants of this operation. @tparam T float, double or int
template <class T> std::span<const gpulab::Variant<ScanRun<T>>> scan_variants();

} // namespace reduction
