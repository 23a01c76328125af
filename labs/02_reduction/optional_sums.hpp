/// @file
/// The sums that need what OpenCL 3.0 leaves to the device: other rungs in OpenCL run on every device.
#pragma once

#include "reduction.hpp"

namespace reduction {

/// The rungs of the sum that a device may lack a feature for. They then throw Unsupported. @tparam T float or double
template <class T> std::span<const gpulab::Variant<SumRun<T>>> optional_sum_variants();

#define RUNG(backend, if_built, function, ...) template <class T> SumRun<T> function;
#include "rungs_optional.inc"
#undef RUNG

} // namespace reduction
