/// @file
/// Launches with what looks at them: checks and counts.
#pragma once

#include "machine/launch.hpp"

namespace cuda_emulator {

/// Runs a launch, checked and counted as the options say. @throws Fault, PtxError
void run_checked(const Launch& launch, Memory& memory);

/// The status of a process that found something, where it would have ended with 0 and CUDA_EMULATOR_CHECK=fail.
inline constexpr int exit_with_findings = 3;

/// Counts kernels that were launched and did not begin. @param change by so many
void note_waiting_kernels(int change);

/// Tells of a fault that ended a kernel.
void say_fault(const Fault& fault);

} // namespace cuda_emulator
