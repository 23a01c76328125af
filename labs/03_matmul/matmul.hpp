/// @file
/// Lab 03: C = A B on every back end, for any shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gpulab/ceilings.hpp"
#include "gpulab/forward.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

/// Lab 03: matrix multiply.
namespace matmul {

using gpulab::Stopwatch;

/// Two matrices to multiply: A is m x k, B is k x n, both row by row without gaps, so that A(i, j) is a[i * k + j].
/// @tparam T float or double
template <class T> struct Problem {
    std::size_t m = 0; ///< rows of A and of C
    std::size_t k = 0; ///< columns of A, rows of B: the length of every sum
    std::size_t n = 0; ///< columns of B and of C
    std::vector<T> a;
    std::vector<T> b;
    std::size_t size() const { return m * n; } ///< elements of C
    double flops() const;                      ///< a multiplication and an addition for each of m k n products
    double bytes() const;                      ///< A and B read once, C written once
};

/// C = A B, m x n, row by row.
template <class T> using Output = std::vector<T>;

/// A variant: from host data to host data. c has m n elements. m, k and n are at most 2^30; any of them may be 0,
/// and an empty sum (k = 0) is 0.
template <class T> using Run = void(const Problem<T>& p, Output<T>& c, Stopwatch& watch);

/// The largest m, k or n: kernels count rows and columns in 32 bits, elements in 64.
inline constexpr std::size_t max_rows = std::size_t{1} << 30;

/// Random A and B in (-1, 1).
template <class T> Problem<T> make_problem(std::size_t m, std::size_t k, std::size_t n, std::uint64_t seed);

/// The product with which every variant is compared: summed in double precision, on all CPU threads. For float, its own
/// error is far below float's epsilon, so that the whole difference is the variant's error.
template <class T> Output<T> reference_product(const Problem<T>& p);

/// The tolerance of a sum of k products: sqrt(k) epsilon, on a scale of sum_l |a_il b_lj|.
///
/// The worst case of any order of summation is k epsilon / 2 (Higham, Accuracy and Stability of Numerical Algorithms,
/// section 3.1), which needs all k roundings to have the same sign. They do not: their sum grows like sqrt(k) (Higham &
/// Mary, SIAM J. Sci. Comput. 41, 2019). Up to k = 4 this tolerance is not below the worst case. It is narrow enough to
/// show one lost product out of 10^4, and inputs rounded to 10 bits (tensor cores in TF32 mode).
template <class T> double tolerance(std::size_t k);

/// How a variant takes an element x of A or B: with an error of at most relative * max(|x|, least).
struct InputError {
    double relative = 0; ///< 0 where it takes them as they are
    double least = 0;    ///< the smallest number with all significant bits
};

/// How a variant takes the elements.
///
/// FP16 rounds to 11 significant bits: 2^-11. From 2^-14 down its numbers are 2^-24 apart: the error is 2^-25, which is
/// 2^-11 times 2^-14. BF16 rounds to 8 significant bits: 2^-8. TF32 cuts off all but 11: 2^-10. The three products of
/// cuda_three_tf32 lose 2^-22 in place of the fourth and 2^-23 in each low half, together what an error of 2^-22 in
/// both elements would.
InputError input_error(std::string_view variant);

/// The baseline with which a variant is compared: the library in the same precision. cuda_three_tf32 gives the
/// precision of float.
std::string_view library_of(std::string_view variant);

/// Compares c with the reference, element (i, j) on the scale |row i of A| |column j of B|: an upper bound of
/// sum_l |a_il b_lj| by Cauchy and Schwarz, about a third larger for long sums of random numbers, and far cheaper.
/// @param input_error of the variant. Elements with a relative error u change each product by at most 2 u + u^2, and a
/// sum by as much of the scale: this is added to the tolerance. The lengths take an element below `least` as that
template <class T>
gpulab::Comparison compare(const Problem<T>& p, const Output<T>& reference, const Output<T>& c,
                           const InputError& input_error = {});

/// The ladder, in reading order: one row per rung. In the table for double, a rung that is written for float throws
/// gpulab::Unsupported.
template <class T> std::span<const gpulab::Variant<Run<T>>> variants();

/// Which arithmetic ceiling binds.
template <class T> constexpr gpulab::Arithmetic arithmetic() {
    return std::is_same_v<T, float> ? gpulab::Arithmetic::fp32 : gpulab::Arithmetic::fp64;
}

} // namespace matmul
