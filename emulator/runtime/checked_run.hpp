/// @file
/// Launches with what looks at them: checks and counts.
#pragma once

#include "machine/launch.hpp"

namespace cuda_emulator {

/// Runs a launch, checked and counted as the options say. @throws Fault, PtxError
void run_checked(const Launch& launch, Memory& memory);

/// Tells of a fault that ended a kernel.
void say_fault(const Fault& fault);

} // namespace cuda_emulator
