/// @file
/// Lab 01: c = k a + b on every back end, and the distances from one point to N points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gpulab/forward.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

/// Lab 01: SAXPY.
namespace saxpy {

using gpulab::Stopwatch;

/// The input of SAXPY: two arrays of the same length and a factor.
struct Problem {
    float k = 0;
    std::vector<float> a;
    std::vector<float> b;
    std::size_t size() const { return a.size(); }
};

/// The result: c[i] = k a[i] + b[i].
using Output = std::vector<float>;

/// A variant: from host data to host data. c has the length of the problem.
using Run = void(const Problem& p, Output& c, Stopwatch& watch);

/// Random a and b in (-1, 1) and a random factor k in (1, 2).
Problem make_problem(std::size_t n, std::uint64_t seed);

/// One side may fuse the multiplication and the addition and round once; the other may round the product and then the
/// sum. A rounding changes a result by at most epsilon / 2 times its size, so the two sides differ by at most
/// epsilon (|k a_i| / 2 + |c_i|), plus terms of the order of epsilon squared, which the one percent covers.
inline constexpr double tolerance = 1.01 * std::numeric_limits<float>::epsilon();

/// Compares c with the reference, each element on the scale |k a_i| / 2 + |k a_i + b_i|.
gpulab::Comparison compare(const Problem& p, const Output& reference, const Output& c);

/// The ladder, in reading order: one row per rung.
std::span<const gpulab::Variant<Run>> variants();

} // namespace saxpy
