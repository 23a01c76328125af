/// @file
/// Matrix products with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <span>
#include <string_view>

#include "gpulab_testing/wrong.hpp"
#include "matmul.hpp"

namespace matmul::wrong {

using gpulab::testing::Forgiven;
using WrongVariant = gpulab::testing::WrongVariant<Run<float>>;

// Names of checks, as in checks().
inline constexpr std::string_view by_shapes = "every shape", by_manners = "manners",
                                  by_tiles = "sizes next to its tiles", by_zeros = "zeros times NaN and infinities",
                                  by_edges = "NaN and infinities at every place of a tile's edge",
                                  by_denormals = "denormals";

std::span<const WrongVariant> cpu_variants();
std::span<const WrongVariant> cuda_variants();
/// Those whose index of A, B or C has 32 bits. They are wrong only for matrices of more elements.
std::span<const WrongVariant> cuda_indices();
std::span<const WrongVariant> opencl_variants();

/// Right ones, made like the wrong ones: what the checks find is the mistake, not how the kernels are launched.
Run<float> cpu_right, cuda_right, cuda_right_pipeline, opencl_right;

} // namespace matmul::wrong
