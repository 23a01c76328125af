/// @file
/// Conjugate gradients with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>

#include "cg.hpp"
#include "gpulab_testing/wrong.hpp"

namespace cg::wrong {

using gpulab::testing::Forgiven;
using WrongVariant = gpulab::testing::WrongVariant<Run<double>>;

std::span<const WrongVariant> cpu_variants();
std::span<const WrongVariant> opencl_variants();
std::span<const WrongVariant> cuda_variants();

/// Right ones, made like the wrong ones.
Run<double> cpu_right, opencl_right, cuda_right;

} // namespace cg::wrong
