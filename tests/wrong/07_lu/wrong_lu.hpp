/// @file
/// Factorisations and solvers with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>
#include <string_view>

#include "gpulab_testing/wrong.hpp"
#include "lu.hpp"
#include "solve.hpp"

namespace lu::wrong {

using gpulab::testing::Forgiven;
using WrongVariant = gpulab::testing::WrongVariant<Run>;
using WrongSolver = gpulab::testing::WrongVariant<SolveRun>;

// Names of checks, as in checks() and solver_checks().
inline constexpr std::string_view by_sizes = "every size", by_special = "special matrices",
                                  by_singular = "singular matrices", by_nan = "NaN and infinities";

// Without pivoting, and with it.
std::span<const WrongVariant> cpu_plain(), cpu_pivoting();
std::span<const WrongVariant> opencl_pivoting(), opencl_blocked();
std::span<const WrongVariant> cuda_plain(), cuda_pivoting(), cuda_blocked();
std::span<const WrongSolver> cpu_solvers();

/// Right ones, made like the wrong ones: what the checks find is the mistake, not how the kernels are launched.
Run cpu_right, cpu_right_pivot;
Run opencl_right_pivot, opencl_right_blocked;
Run cuda_right, cuda_right_pivot, cuda_right_blocked;
SolveRun cpu_right_solver;

} // namespace lu::wrong
