/// @file
/// Kernels for SAXPY and for distances, with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "distances.hpp"
#include "gpulab_testing/wrong.hpp"
#include "saxpy.hpp"

namespace saxpy::wrong {

using gpulab::testing::Forgiven;
using WrongVariant = gpulab::testing::WrongVariant<Run>;
using WrongDistance = gpulab::testing::WrongVariant<DistanceRun>;

/// A right kernel in the same harness: the checks accept it, so they reject the others for their mistakes alone.
Run opencl_right, cuda_right;
DistanceRun opencl_right_distance, cuda_right_distance;

std::span<const WrongVariant> cpu_variants();
std::span<const WrongVariant> cuda_variants();
std::span<const WrongVariant> opencl_variants();
std::span<const WrongDistance> cuda_distances();
std::span<const WrongDistance> opencl_distances();

} // namespace saxpy::wrong
