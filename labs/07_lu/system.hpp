/// @file
/// The user's own system: `lu --matrix FILE --rhs FILE --solution FILE`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gpulab/options.hpp"

namespace lu {

/// The files of one system.
struct SystemFiles {
    std::string matrix;   ///< A
    std::string rhs;      ///< B
    std::string solution; ///< X goes here; empty: it is not written
};

/// How a system was solved, and how well.
struct SolvedSystem {
    std::string matrix; ///< its file
    std::size_t n = 0;
    std::size_t count = 0; ///< right-hand sides
    std::string variant, device;
    double factorise_ms = 0;
    std::string solver;
    double solve_ms = 0;
    double residual = 0;       ///< the largest element of B - A X, without its sign
    double backward_error = 0; ///< see backward_error()
    double condition = 0;      ///< estimated in the 1-norm
    int digits = 0;            ///< of X that are right; see right_digits()
};

/// The lines that the program prints.
std::string text_of(const SolvedSystem& system);
/// The same for other programs: one object. What is infinite is null.
std::string json_of(const SolvedSystem& system);

/// How many decimal digits of X are right: 0 ... 15, or -1 where the matrix is singular to working precision.
/// @param largest element of X without its sign: below the smallest normal number a double holds fewer digits
int right_digits(double condition, double largest);

/// The variants that may factorise, the best one first.
inline constexpr std::string_view preferred_variants[] = {"cuda_critical_path_pivot", "cuda_blocked_pivot",
                                                          "cpu_threads_pivot", "opencl_blocked_pivot"};

/// Multiplies numbers by a power of 2 so that the largest is between 1 and 2, where it is so small or so large that
/// products would underflow or overflow; or less far, so that no number loses digits or becomes zero.
/// @return the exponent, 0 where they stay as they are
int scale(std::vector<double>& numbers);

/// Reads A and B, solves A X = B with one step of refinement, says how good X is, and writes it.
///
/// The factorisation is the best variant with pivoting that the options allow: on a GPU, with CUDA, when there is one,
/// else on all cores of the CPU.
/// @return the program's exit code
/// @throws Singular, or UsageError when the files do not fit each other
int solve_system(const gpulab::Options& options, const SystemFiles& files);

} // namespace lu
