/// @file
/// Launch grids of the rungs that compute C in tiles.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>

#include "gpulab/math.hpp"

namespace matmul {

/// The most blocks that a grid has along y.
inline constexpr std::size_t max_blocks_y = 65535;

/// The grid whose tiles of x_tile by y_tile cover x_size by y_size; a kernel reads its place from block_x() and
/// block_y().
///
/// Where the tiles need more blocks along y than a grid has, the grid continues along z. The last layer may then have a
/// few blocks beyond the edge, which have nothing to do.
/// @pre both sizes > 0
inline dim3 tile_grid(std::size_t x_size, unsigned x_tile, std::size_t y_size, unsigned y_tile) {
    const std::size_t y_blocks = gpulab::ceil_div(y_size, y_tile);
    const std::size_t layers = gpulab::ceil_div(y_blocks, max_blocks_y);
    return {gpulab::grid_size(x_size, x_tile), static_cast<unsigned>(gpulab::ceil_div(y_blocks, layers)),
            static_cast<unsigned>(layers)};
}

#if defined(__CUDACC__)
/// This block's place along x in the grid that tile_grid() made.
__device__ inline int block_x() { return blockIdx.x; }

/// This block's place along y.
__device__ inline int block_y() { return blockIdx.z * gridDim.y + blockIdx.y; }
#endif

} // namespace matmul
