/// @file
/// Which registers an instruction reads and writes, by their names in its text.
#pragma once

#include <string_view>
#include <vector>

#include "ptx/module.hpp"

namespace cuda_emulator {

struct RegisterUses {
    std::vector<std::string_view> writes, reads, addresses; ///< addresses: what stands in [], which is also in reads
    enum class Kind { computes, copies, selects, stores, shuffles, changes_memory, decides } kind = Kind::computes;
};

RegisterUses uses_of(const Instruction& instruction);

} // namespace cuda_emulator
