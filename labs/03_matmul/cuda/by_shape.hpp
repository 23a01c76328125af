/// @file
/// The choice that cuda_by_shape makes. It needs no device, so it can be tested anywhere.
#pragma once

#include <algorithm>
#include <cstddef>

#include "gpulab/math.hpp"

namespace matmul {

/// The two tiles of C that cuda_by_shape has kernels for.
inline constexpr std::size_t large_rows = 128, large_columns = 256;
inline constexpr std::size_t small_rows = 64, small_columns = 128;
inline constexpr std::size_t small_per_sm = 3; ///< blocks with the small tile that a multiprocessor holds at once
inline constexpr std::size_t part_unit = 16;   ///< both kernels go through k in steps of this size

/// How to compute a product.
struct ByShape {
    bool large = false;           ///< the tile: 128 x 256 of C per block, or 64 x 128
    bool vector = false;          ///< whether rows of B and C can be moved in 16-byte pieces
    std::size_t part = part_unit; ///< columns of A (rows of B) in a part of k
    std::size_t parts = 1;        ///< how many parts k is cut into; none is empty
};

/// What a choice costs: the multiply-adds of the multiprocessor that has the most to do, plus overheads in the same
/// unit. The constants were fitted to times measured on an H200.
inline double cost(const ByShape& choice, std::size_t m, std::size_t n, std::size_t multiprocessors) {
    using gpulab::ceil_div;
    const std::size_t rows = choice.large ? large_rows : small_rows;
    const std::size_t columns = choice.large ? large_columns : small_columns;
    const std::size_t tiles = ceil_div(m, rows) * ceil_div(n, columns);
    const std::size_t blocks = ceil_div(tiles * choice.parts, multiprocessors); // of the busiest multiprocessor
    // Filling its pipeline and writing C take a block the time of 24 more steps.
    double work = static_cast<double>(blocks * rows * columns * (choice.part + 24));
    // Small tiles need more loads, and one or two blocks of them do not keep a multiprocessor busy.
    if (!choice.large) work *= blocks == 1 ? 1.20 : blocks == 2 ? 1.05 : 1.01;
    // Writing, reading and adding a share of an element takes the time of 50 multiply-adds.
    if (choice.parts > 1)
        work += 50.0 * static_cast<double>(choice.parts * m * n) / static_cast<double>(multiprocessors);
    return work;
}

/// The cheapest choice for a product of m x k by k x n on a device with this many multiprocessors. It tries both tiles
/// with every number of parts that leaves at least 64 columns per part and at most 12 blocks per multiprocessor.
/// @param large_fits whether the device has the shared memory for the large tile
inline ByShape choose_by_shape(std::size_t m, std::size_t k, std::size_t n, std::size_t multiprocessors,
                               bool large_fits = true) {
    using gpulab::ceil_div;
    ByShape best;
    double least = -1;
    for (const bool large : {true, false}) {
        if (large && !large_fits) continue;
        const std::size_t tiles =
            ceil_div(m, large ? large_rows : small_rows) * ceil_div(n, large ? large_columns : small_columns);
        for (std::size_t wanted = 1; wanted == 1 || (64 * wanted <= k && tiles * wanted <= 12 * multiprocessors);
             ++wanted) {
            ByShape choice{.large = large, .vector = n % 4 == 0};
            choice.part = std::max(gpulab::round_up(ceil_div(k, wanted), part_unit), part_unit);
            choice.parts = std::max<std::size_t>(ceil_div(k, choice.part), 1);
            const double costs = cost(choice, m, n, multiprocessors);
            if (least >= 0 && costs >= least) continue;
            best = choice;
            least = costs;
        }
    }
    return best;
}

} // namespace matmul
