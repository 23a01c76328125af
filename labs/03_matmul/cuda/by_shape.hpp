/// @file
/// The choice that cuda_by_shape makes. Choosing needs no device, so it can be tested anywhere.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gpulab/math.hpp"
#include "matmul.hpp"

namespace matmul {

/// A tile of C for which cuda_by_shape has a kernel, and what it costs on a multiprocessor: fitted to times of an H100.
struct CostOfTile {
    std::size_t rows, columns;
    std::size_t resident;   ///< blocks that a multiprocessor holds at once
    double cycles_per_128;  ///< for 128 multiply-adds, which the arithmetic units do in one; the rest is loads
    double cycles_per_step; ///< a block cannot do a column of A in less, however little there is to do
    double steps_more;      ///< columns of A in whose time a block fills its pipeline and writes C
    double steps_odd;       ///< further ones where 4 does not divide n, so that C is written in single floats
};

/// In the order in which cuda_by_shape has them.
inline constexpr CostOfTile tiles_by_shape[] = {{128, 256, 1, 1.18, 0, 24, 150},
                                                {64, 128, 3, 1.22, 94, 5, 50},
                                                {32, 64, 6, 1.95, 35, 5, 10},
                                                {32, 32, 8, 2.2, 32, 5, 20}};

inline constexpr std::size_t part_unit = 32; ///< all kernels go through k in steps that divide this
inline constexpr std::size_t few = 8;        ///< rows or columns of C for which there are kernels without tiles
inline constexpr std::size_t min_k = 256;    ///< the least k for which they are worth while

/// How to compute a product.
struct ByShape {
    /// Tiles of C, or, where C has few rows or columns, every element of the larger matrix once.
    enum class Way { tiles, thin_rows, thin_columns };
    Way way = Way::tiles;
    std::size_t tile = 0;         ///< of tiles_by_shape
    bool vector = false;          ///< whether rows of B and C can be moved in 16-byte pieces
    std::size_t part = part_unit; ///< columns of A (rows of B) in a part of k
    std::size_t parts = 1;        ///< how many parts k is cut into; none is empty

    /// Cuts k into this many parts, or a few less where they would not all have part_unit columns.
    void cut(std::size_t k, std::size_t wanted) {
        using gpulab::ceil_div;
        part = std::max(gpulab::round_up(ceil_div(k, wanted), part_unit), part_unit);
        parts = std::max<std::size_t>(ceil_div(k, part), 1);
    }
};

/// cuda_by_shape with the choice of the caller, such as a test. @pre choice suits the shape, as choose_by_shape() does
void multiply_as_chosen(const Problem<float>& p, Output<float>& c, Stopwatch& watch, const ByShape& choice);

/// What a choice of tile and parts costs: clock cycles of the multiprocessor that has the most to do.
inline double cost(const ByShape& choice, std::size_t m, std::size_t n, std::size_t multiprocessors) {
    using gpulab::ceil_div;
    const CostOfTile& tile = tiles_by_shape[choice.tile];
    const std::size_t tiles = ceil_div(m, tile.rows) * ceil_div(n, tile.columns);
    const std::size_t blocks = ceil_div(tiles * choice.parts, multiprocessors); // of the busiest multiprocessor
    const std::size_t waves = ceil_div(blocks, tile.resident);
    const double steps = static_cast<double>(choice.part) + tile.steps_more + (choice.vector ? 0 : tile.steps_odd);
    const double arithmetic = static_cast<double>(blocks * tile.rows * tile.columns) / 128 * tile.cycles_per_128;
    double cycles = steps * std::max(arithmetic, static_cast<double>(waves) * tile.cycles_per_step);
    if (!choice.vector) cycles *= 1.1;
    // Shares are written, read and added, by a kernel of its own.
    if (choice.parts > 1)
        cycles += 6000 + 0.33 * static_cast<double>(choice.parts * m * n) / static_cast<double>(multiprocessors);
    return cycles;
}

/// The cheapest choice for a product of m x k by k x n on a device with this many multiprocessors. It tries all tiles
/// with every number of parts that leaves at least 32 columns per part and at most 12 blocks per multiprocessor.
/// @param large_fits whether the device has the shared memory for the largest tile
inline ByShape choose_by_shape(std::size_t m, std::size_t k, std::size_t n, std::size_t multiprocessors,
                               bool large_fits = true) {
    using gpulab::ceil_div;
    ByShape best{.vector = n % 4 == 0};
    if (n <= few && k >= min_k) {
        best.way = ByShape::Way::thin_columns;
        best.cut(k, 1);
        return best;
    }
    if (m <= few && k >= min_k) { // a block has 32 lanes side by side; four blocks for each multiprocessor
        best.way = ByShape::Way::thin_rows;
        const std::size_t blocks = ceil_div(n, best.vector ? 128 : 32);
        best.cut(k, std::clamp<std::size_t>(4 * multiprocessors / std::max<std::size_t>(blocks, 1), 1, k / 64));
        return best;
    }
    double least = -1;
    for (std::size_t t = large_fits ? 0 : 1; t < std::size(tiles_by_shape); ++t) {
        const std::size_t tiles = ceil_div(m, tiles_by_shape[t].rows) * ceil_div(n, tiles_by_shape[t].columns);
        for (std::size_t wanted = 1; wanted == 1 || (part_unit * wanted <= k && tiles * wanted <= 12 * multiprocessors);
             ++wanted) {
            ByShape choice{.tile = t, .vector = n % 4 == 0};
            choice.cut(k, wanted);
            const double costs = cost(choice, m, n, multiprocessors);
            if (least >= 0 && costs >= least) continue;
            best = choice;
            least = costs;
        }
    }
    return best;
}

} // namespace matmul
