/// @file
/// The choice that cuda_by_shape makes, apart from any device, so that it can be tested anywhere.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gpulab/math.hpp"

namespace matmul {

/// The two tiles of C that cuda_by_shape has kernels for.
inline constexpr std::size_t large_rows = 128, large_columns = 256;
inline constexpr std::size_t small_rows = 64, small_columns = 128;
inline constexpr std::size_t small_per_sm = 3; ///< blocks with the small tile that a multiprocessor holds at once
inline constexpr std::size_t part_unit = 16;   ///< both kernels go through k in steps of it

/// How a product is to be computed.
struct ByShape {
    bool large = false;    ///< the tile: 128 x 256 of C per block, or 64 x 128
    bool vector = false;   ///< whether rows of B and C can be moved in 16-byte pieces
    std::size_t part = 16; ///< columns of A (rows of B) in a part of k
    std::size_t parts = 1; ///< how many parts k is cut into; none is empty
};

/// Chooses for a product of m x k by k x n on a device with this many multiprocessors.
inline ByShape choose_by_shape(std::size_t m, std::size_t k, std::size_t n, std::size_t multiprocessors) {
    using gpulab::ceil_div;
    // The large tile needs the fewest loads, if its last wave of blocks fills nine tenths of the device. Counted in
    // elements of C, so that a tile that hangs over the edge counts for what it covers.
    const std::size_t tiles = ceil_div(m, large_rows) * ceil_div(n, large_columns);
    const std::size_t waves = ceil_div(tiles, multiprocessors);
    ByShape choice;
    choice.large = 10 * m * n >= 9 * waves * multiprocessors * large_rows * large_columns && m * n > 0;
    choice.vector = n % 4 == 0;

    // Parts of k: as many as the blocks that fit at once allow, none shorter than 128.
    const std::size_t small_tiles = ceil_div(m, small_rows) * ceil_div(n, small_columns);
    const std::size_t room = multiprocessors * small_per_sm / std::max<std::size_t>(small_tiles, 1);
    const std::size_t wanted = choice.large ? 1 : std::clamp<std::size_t>(room, 1, std::max<std::size_t>(k / 128, 1));
    choice.part = gpulab::round_up(std::max<std::size_t>(ceil_div(k, wanted), 1), part_unit);
    choice.parts = std::max<std::size_t>(ceil_div(k, choice.part), 1);
    return choice;
}

} // namespace matmul
