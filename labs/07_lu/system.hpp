/// @file
/// The user's own system: `lu --matrix FILE --rhs FILE --solution FILE`.
#pragma once

#include <string>

#include "gpulab/options.hpp"

namespace lu {

/// The files of one system.
struct SystemFiles {
    std::string matrix;   ///< A
    std::string rhs;      ///< B
    std::string solution; ///< X goes here; empty: it is not written
};

/// Reads A and B, solves A X = B with one step of refinement, says how good X is, and writes it.
///
/// The factorisation is the best variant with pivoting that the options allow: on a GPU, with CUDA, when there is one,
/// else on all cores of the CPU.
/// @return the program's exit code
/// @throws Singular, or UsageError when the files do not fit each other
int solve_system(const gpulab::Options& options, const SystemFiles& files);

} // namespace lu
