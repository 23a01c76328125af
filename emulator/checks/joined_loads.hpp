/// @file
/// Loads of shared memory that ptxas makes one of.
#pragma once

#include <vector>

#include "ptx/module.hpp"

namespace cuda_emulator {

/// By instruction: n > 1 for a load that brings the words of n loads along, 0 for one of the others, 1 for all else.
/// Empty if there is none.
///
/// ptxas joins loads of shared memory to one of 8 or 16 bytes where they stand in the same basic block with no store,
/// barrier or atomic operation between, go to neighbouring words from the same base register, and the address of the
/// first is known to be a multiple of 8 or 16: it follows from the places of the shared variables and from how the
/// address was computed. (The rule is inferred from the counts of an H100; other versions of ptxas may differ. Stores
/// are left as they are.)
std::vector<unsigned> joined_loads(const Kernel& kernel);

} // namespace cuda_emulator
