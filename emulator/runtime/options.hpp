/// @file
/// What a user sets in the environment; see README.md.
#pragma once

#include <cstdint>
#include <string>

namespace cuda_emulator {

struct Options {
    std::uint64_t order = 0; ///< CUDA_EMULATOR_ORDER: another order of blocks, warps and commands
    int devices = 1;         ///< CUDA_EMULATOR_DEVICES
    int threads = 0;         ///< CUDA_EMULATOR_THREADS of the host, 0 for all
    std::string counts;      ///< CUDA_EMULATOR_COUNTS: the file for counts
    enum class Check { off, report, fail } check = Check::report; ///< CUDA_EMULATOR_CHECK
};

/// Read once. Bad values end the process with one line and status 2.
const Options& options();

} // namespace cuda_emulator
