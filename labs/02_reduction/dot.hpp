/// @file
/// The dot product of two vectors (Alfaro Vigo & Rossetto, exercise 2.2; Bueno, section 4.2.1).
#pragma once

#include "reduction.hpp"

namespace reduction {

/// Two vectors of the same length. @tparam T float or double
template <class T> struct DotProblem {
    std::vector<T> a;
    std::vector<T> b;
    std::size_t size() const { return a.size(); }
};

/// A variant of the dot product a_1 b_1 + ... + a_n b_n; 0 for n = 0. It is timed like a SumRun.
template <class T> using DotRun = void(const DotProblem<T>& p, Scalar<T>& dot, Stopwatch& watch);

/// Two vectors of n random numbers in (0, 1).
template <class T> DotProblem<T> make_dot_problem(std::size_t n, std::uint64_t seed);

/// By compensated summation of exact products: the reference.
template <class T> Expected<T> expected_dot(const DotProblem<T>& p);

/// As for a sum, plus one rounding for each product.
template <class T> double dot_tolerance(gpulab::Backend backend, std::size_t n) { return tolerance<T>(backend, n, 1); }

/// The variants of this operation. @tparam T float or double
template <class T> std::span<const gpulab::Variant<DotRun<T>>> dot_variants();

} // namespace reduction
