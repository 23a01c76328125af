/// @file
/// cuda_steps and cuda_persistent with perturbed blocks.
#pragma once

#include "fdtd.hpp"

namespace perturbed {

/// The lab's own kernels. Late are the blocks whose number leaves this remainder when it is divided by the period.
template <unsigned period, unsigned remainder>
void steps(const fdtd::Problem<float>& p, fdtd::Output<float>& out, gpulab::Stopwatch& watch);
template <unsigned period, unsigned remainder>
void persistent(const fdtd::Problem<float>& p, fdtd::Output<float>& out, gpulab::Stopwatch& watch);

} // namespace perturbed
