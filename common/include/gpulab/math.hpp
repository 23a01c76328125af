/// @file
/// Integer arithmetic for launches: rounding up, and the number of blocks.
#pragma once

#include <cstddef>

#include "gpulab/test_hooks.hpp"

namespace gpulab {

/// a / b rounded up.
/// @pre b > 0
constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return a / b + (a % b != 0); }

/// The smallest multiple of `step` that is not below a.
/// @pre step > 0
constexpr std::size_t round_up(std::size_t a, std::size_t step) { return ceil_div(a, step) * step; }

/// How many blocks of `block` threads give each of n elements a thread; at least 1, because a launch of no blocks
/// is an error. The kernel's own bounds check makes n = 0 come out right.
/// @pre block > 0, and n <= block * (2^31 - 1): the most blocks a grid can have
constexpr unsigned grid_size(std::size_t n, unsigned block) {
    note_cut(block);
    return n == 0 ? 1u : static_cast<unsigned>(ceil_div(n, block));
}

/// The same for OpenCL, which counts work-items: those of as many groups of `local` as give each of n elements one; at
/// least one group. @pre local > 0
constexpr std::size_t global_size(std::size_t n, std::size_t local) {
    note_cut(local);
    return n == 0 ? local : round_up(n, local);
}

} // namespace gpulab
