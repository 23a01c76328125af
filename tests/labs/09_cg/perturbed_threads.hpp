/// @file
/// cuda_persistent, cuda_devices and cuda_devices_stores with perturbed blocks and warps.
#pragma once

#include "cg.hpp"

namespace perturbed {

/// The lab's own kernels. @param warp which warp of a block is late; -1: all
/// @param blocks which blocks are late: those with an even number (0) or an odd one (1)
template <int warp, int blocks>
void persistent(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch);
template <int warp, int blocks>
void devices(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch);
template <int warp, int blocks>
void devices_stores(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch);

} // namespace perturbed
