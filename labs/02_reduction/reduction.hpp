/// @file
/// Lab 02: many numbers into one. The sum, and what the other operations of the lab share with it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "gpulab/forward.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

/// Lab 02: reduction. Sum, dot product, series (one number out) and prefix sum (as many out as in).
namespace reduction {

using gpulab::Stopwatch;

/// The result of a reduction: a vector of exactly one element, so that it is poisoned and compared like any output.
template <class T> using Scalar = std::vector<T>;

/// Numbers to add up. @tparam T float or double
template <class T> struct SumProblem {
    std::vector<T> a;
    std::size_t size() const { return a.size(); }
};

/// A variant of the sum: from host data to one number in host memory; 0 for no numbers.
///
/// Kernel time ends when the number is in host memory: the last copy is part of it.
template <class T> using SumRun = void(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch);

/// n random numbers in (0, 1). All positive, so that nothing cancels and a missing element shows.
template <class T> SumProblem<T> make_sum_problem(std::size_t n, std::uint64_t seed);

/// What an answer is compared with: the value, and the sum of the absolute values that were added, to which the error
/// is relative. An error relative to the value itself means nothing when the terms cancel.
template <class T> struct Expected {
    Scalar<T> value;
    double magnitude = 0;
};

/// The sum by compensated summation in double: the reference.
template <class T> Expected<T> expected_sum(const SumProblem<T>& p);

/// The longest chain of additions that one element can go through in any variant here.
///
/// On a device an element is added to at most n / 2048 others by its own thread: every grid has at least 2048 threads,
/// unless a thread has at most 32 elements, which the 2048 below covers. It covers all that follows, too: trees, and
/// one addition per block.
constexpr double longest_chain(std::size_t n) {
    const std::size_t on_a_grid = n / 2048 + 2048;
    return static_cast<double>(n < on_a_grid ? n : on_a_grid);
}

/// Bound on |sum - exact| / (sum of |a_i|).
///
/// In any order of additions the error is at most d u sum |a_i|, where u = epsilon / 2 is the unit roundoff and d the
/// longest chain of additions an element goes through (Higham, SIAM J. Sci. Comput. 14, 1993; without higher-order
/// terms: Jeannerod & Rump, SIAM J. Matrix Anal. Appl. 34, 2013). CPU variants add in double one after another, d = n
/// with the u of double, and round once to T.
/// @param term_errors the error of one term, in units of u: 0 for a sum, 1 for a product; one more is always
///                    added for rounding the result and one for rounding the reference
template <class T> double tolerance(gpulab::Backend backend, std::size_t n, double term_errors = 0) {
    constexpr double u = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
    constexpr double u_double = std::numeric_limits<double>::epsilon() / 2;
    if (backend == gpulab::Backend::cpu)
        return static_cast<double>(n) * u_double + (2 + term_errors) * (u > u_double ? u : u_double);
    return (longest_chain(n) + 2 + term_errors) * u;
}

/// Compares one number with what was expected, on the scale of the terms that were added.
template <class T> gpulab::Comparison compare(const Expected<T>& expected, const Scalar<T>& actual, double tolerance);

/// The ladder of the sum, in reading order: one row per rung. @tparam T float or double
template <class T> std::span<const gpulab::Variant<SumRun<T>>> sum_variants();

} // namespace reduction
