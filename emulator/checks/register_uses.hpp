/// @file
/// Which registers an instruction reads and writes, by their names in its text.
#pragma once

#include <string_view>
#include <vector>

#include "ptx/module.hpp"

namespace cuda_emulator {

struct RegisterUses {
    std::vector<std::string_view> writes, reads, addresses; ///< addresses: what stands in [], which is also in reads
    enum class Kind { other, copy, select, store } kind = Kind::other; ///< mov, selp, st
};

RegisterUses uses_of(const Instruction& instruction);

} // namespace cuda_emulator
