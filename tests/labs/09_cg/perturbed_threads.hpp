/// @file
/// cuda_persistent, cuda_devices and cuda_devices_stores with perturbed blocks and warps.
#pragma once

#include "cg.hpp"

namespace perturbed {

/// The lab's own kernels, in which threads may be late.
template <class T> cg::Run<T> cuda_persistent;
template <class T> cg::Run<T> cuda_devices;        ///< see cuda_persistent
template <class T> cg::Run<T> cuda_devices_stores; ///< see cuda_persistent

/// From now on this warp is late in every other block. @param warp -1: all warps
/// @param first which blocks: those with an even number (0) or an odd one (1)
void set_late_threads(int warp, unsigned first);

} // namespace perturbed
