/// @file
/// Launch grids of the rungs that compute C in tiles.
#pragma once

#include <cuda_runtime_api.h>
#include <string>

#include "gpulab/error.hpp"
#include "gpulab/math.hpp"

namespace matmul {

/// Blocks so that tiles of x_tile by y_tile cover x_size by y_size.
/// @pre both sizes > 0
/// @throws gpulab::Unsupported when y needs more than the 65535 blocks that a grid has in that dimension
inline dim3 tile_grid(std::size_t x_size, unsigned x_tile, std::size_t y_size, unsigned y_tile) {
    const std::size_t y_blocks = gpulab::ceil_div(y_size, y_tile);
    if (y_blocks > 65535)
        throw gpulab::Unsupported("a grid has at most 65535 blocks along y, " + std::to_string(y_blocks) +
                                  " are needed");
    return {gpulab::grid_size(x_size, x_tile), static_cast<unsigned>(y_blocks), 1};
}

} // namespace matmul
