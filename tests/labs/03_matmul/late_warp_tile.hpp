/// @file
/// The kernel of cuda_pipeline, cuda_warp_tiles and cuda_by_shape with copies that arrive as late as CUDA allows.
#pragma once

#include "matmul.hpp"

namespace late {

/// Its products of few tiles (at most 130 x 132 of C), with three stages and tiles of 128 x 128.
void three_stages(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch);
/// With four stages and tiles of 64 x 128, as the small ones of cuda_by_shape.
void four_stages(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch);

} // namespace late
