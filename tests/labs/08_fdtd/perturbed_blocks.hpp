/// @file
/// cuda_steps and cuda_persistent with perturbed blocks.
#pragma once

#include "fdtd.hpp"

namespace perturbed {

/// The lab's own kernels, in which blocks may be late.
template <class T> fdtd::Run<T> cuda_steps;
template <class T> fdtd::Run<T> cuda_persistent; ///< see cuda_steps

/// From now on those blocks are late whose number leaves this remainder when it is divided by the period.
void set_late_blocks(unsigned period, unsigned remainder);

} // namespace perturbed
