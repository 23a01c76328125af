/// @file
/// What the checks need to know of the machine beyond what it tells an observer.
#pragma once

#include <cstddef>
#include <optional>

#include "machine/observer.hpp"

namespace cuda_emulator {

/// Byte `i` of what a lane stores, where the width of the register is known from its name (%rs, %r, %rd, %f, %fd).
std::optional<std::byte> stored_byte(const WarpView& warp, unsigned lane, const Access& store, unsigned i);

/// Whether a copy of this lane to this place is under way.
bool is_under_way(const WarpView& warp, unsigned lane, const std::byte* to);

/// The lanes for which a predicate is true.
Mask predicate_of(const WarpView& warp, Operand predicate);

/// The block of the warp's cluster with this rank; null if there is none.
BlockView* block_of_cluster(const WarpView& warp, std::size_t rank);

} // namespace cuda_emulator
