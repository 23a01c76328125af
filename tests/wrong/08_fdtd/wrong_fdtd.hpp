/// @file
/// Yee's scheme with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <functional>
#include <span>

#include "fdtd.hpp"
#include "gpulab_testing/wrong.hpp"

namespace fdtd::wrong {

using gpulab::testing::Forgiven;
using WrongVariant = gpulab::testing::WrongVariant<Run<double>>;

std::span<const WrongVariant> cpu_variants();
std::span<const WrongVariant> opencl_variants();
std::span<const WrongVariant> cuda_variants();

/// Right ones, made like the wrong ones.
Run<double> cpu_right, opencl_right, cuda_right, cuda_right_two_steps;

/// Mistakes that are in the numbers a kernel gets, not in the kernel.
enum class Given {
    right,
    three_sides,    ///< the layer at the top is left out
    no_loss,        ///< a and c are 1
    hard_for_soft,  ///< every source sets the field
    sides_swapped,  ///< dx for dy
    walls_change,   ///< U at a wall is computed like any other
    source_late,    ///< the source's value of the step before
    source_early,   ///< the source's value of the step after: half a step off becomes one with whole steps
    sources_swapped ///< the sources act in the wrong order
};

/// The problem with that mistake.
Problem<double> given(const Problem<double>& p, Given mistake);

/// Mistakes of a kernel.
enum class Mistake {
    none,
    printed_dx,         ///< the book's program 4.2: the upper neighbour goes to DxHz
    border_row_skipped, ///< U of the last row is not computed
    border_edge_moves,  ///< P along the lower border is computed as if U below were 0
    neighbour_medium,   ///< the coefficients of the cell to the right
    split_forgotten,    ///< the layers' second number is not stored
    record_too_early,   ///< a probe sees U of the step before
    float_numbers,      ///< U is rounded to float on the way
    source_twice        ///< soft sources add to U twice
};

} // namespace fdtd::wrong
