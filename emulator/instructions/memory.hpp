#pragma once
#include "instructions/define.hpp"

namespace cuda_emulator {

/// Takes order, scope and space of an instruction for memory.
MemoryModifiers take_memory_modifiers(Decoder& decoder);

} // namespace cuda_emulator
