#pragma once
#include "machine/warp.hpp"
#include <string>

namespace cuda_emulator {

/// Functions that the driver brings: vprintf, __assertfail, malloc, free. Null if it is none of them.
/// Operands: the places of arguments, then of results, in local memory.
Handler device_call(const std::string& name);

} // namespace cuda_emulator
