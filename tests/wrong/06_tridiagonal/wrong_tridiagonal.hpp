/// @file
/// Tridiagonal solvers with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>

#include "gpulab_testing/wrong.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal::wrong {

using gpulab::testing::Forgiven;
using gpulab::testing::WrongVariant;

/// The mistakes that the kernels of several back ends make. A kernel gets its mistake as an argument.
enum Mistake {
    none,
    printed_c,           ///< CR (Book 3.2): c[i] for c[i1] on the way back, i being the number of the thread
    printed_x,           ///< CR (Book 3.2): x[i +- var] for x[i1 +- var]
    clamped,             ///< CR (Book 3.1, 3.2): the last row for a neighbour outside
    power_of_two,        ///< CR: as many equations in a step back as there would be if n were a power of two
    edge_from_neighbour, ///< CR: the next system's first equation for a neighbour outside
    silent_zero,         ///< CR: a zero pivot is not reported
    row_of_thread,       ///< CR: the thread's number is reported for the row of a zero pivot
    a_of_row_0,          ///< PCR: what stands in a of row 0 is used, with a neighbour of 0
    stale,               ///< PCR: b of this step for b of the step before, because it was overwritten in place
    no_barrier,          ///< PCR: no barrier between reading the neighbours and overwriting them
    barrier_in_branch,   ///< PCR: only threads that have an equation come to a barrier
};

std::span<const WrongVariant<Run<double>>> cpu_variants();
std::span<const WrongVariant<Run<double>>> opencl_variants();
std::span<const WrongVariant<Run<double>>> cuda_variants();

// Made like the wrong ones, but right: the checks accept them, on a device that no wrong one has broken.
void cpu_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch);
void opencl_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch);
void cuda_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch);

} // namespace tridiagonal::wrong
