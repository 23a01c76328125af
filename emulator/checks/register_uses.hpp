/// @file
/// What a kernel does with the registers that a load has filled.
#pragma once

#include <cstdint>

#include "ptx/module.hpp"

namespace cuda_emulator {

/// Whether a load that reads some bytes that were never written passes on such bytes to more than a copy: an element of
/// a vector that holds some is an operand of an instruction other than a store.
/// @param written of each byte, 0: never written
bool uses_unset(const Kernel& kernel, const Instruction& load, const std::uint8_t* written, unsigned bytes, unsigned elements);

} // namespace cuda_emulator
