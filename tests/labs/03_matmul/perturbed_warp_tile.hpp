/// @file
/// The kernels of cuda_pipeline, cuda_warp_tiles and cuda_by_shape with copies that arrive as late as CUDA allows.
#pragma once

#include "matmul.hpp"

namespace perturbed {

/// Products of few tiles (at most 130 x 132 of C) by cuda_pipeline's own kernel.
void pipeline(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch);
/// By the kernel in warp_tile.cuh with three stages and tiles of 128 x 128, as cuda_warp_tiles.
void three_stages(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch);
/// With four stages and tiles of 64 x 128, as the small ones of cuda_by_shape.
void four_stages(const matmul::Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch);

} // namespace perturbed
