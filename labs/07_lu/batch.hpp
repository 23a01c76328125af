/// @file
/// Many small matrices, each factorised on its own with partial pivoting: a Problem with count > 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lu.hpp"

namespace lu {

/// The largest matrices of a batch: 128 x 128 doubles fit the shared memory of a block on large GPUs.
inline constexpr std::size_t max_batch_rows = 128;

/// `count` random matrices as make_problem() makes them.
Problem make_batch(std::size_t n, std::size_t count, std::uint64_t seed);

/// The rungs for batches; one row per rung. All of them use partial pivoting.
/// @pre 1 <= n <= max_batch_rows
std::span<const gpulab::Variant<Run>> batch_variants();

} // namespace lu
