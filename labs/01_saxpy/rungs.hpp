/// @file
/// Declarations of the rungs, one line each, for the tables and the tests. Each rung's own file describes it.
#pragma once

#include "distances.hpp"
#include "saxpy.hpp"

namespace saxpy {

// SAXPY
Run cpu_sequential;
Run cpu_blocks;
Run cpu_interleaved;
Run opencl_raw;
Run opencl_one_item;
Run opencl_grid_stride;
Run opencl_vectorised;
Run cuda_raw;
Run cuda_one_block;
Run cuda_many_blocks;
Run cuda_grid_stride;
Run cuda_float4;
Run cuda_vectorised;
Run cuda_cublas;

// Distances
DistanceRun cpu_distances;
DistanceRun opencl_distances_packed;
DistanceRun opencl_distances_aligned;
DistanceRun cuda_distances_packed;
DistanceRun cuda_distances_aligned;

} // namespace saxpy
