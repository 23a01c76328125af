/// @file
/// What a store is about to write.
#pragma once

#include <cstddef>
#include <optional>

#include "machine/observer.hpp"

namespace cuda_emulator {

/// Byte `i` of what a lane stores, where the width of the register is known from its name (%rs, %r, %rd, %f, %fd).
std::optional<std::byte> stored_byte(const WarpView& warp, unsigned lane, const Access& store, unsigned i);

} // namespace cuda_emulator
