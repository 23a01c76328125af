/// @file
/// What a GPU would be asked for by a launch: requests of warps, sectors of global memory, passes of shared memory.
///
/// Each time that a warp runs an instruction of memory is one request. Global memory answers in sectors of 32 bytes.
/// Shared memory has 32 banks of 4 bytes; a request takes as many passes (Nsight Compute: wavefronts) as the bank with
/// most different words. Lanes with 8 bytes are served by halves of the warp, lanes with 16 by quarters. Of loads, two
/// halves or two neighbouring quarters are served as one if in both every active lane has the address of the lane next
/// to it (number xor 1) or every one that of the lane two apart (xor 2), where that is active. This rule gives the
/// passes and conflicts that an H100 counts: tests/passes.txt. Caches are left out.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machine/launch.hpp"

namespace cuda_emulator {

/// Addresses of the lanes of one request.
struct Request {
    Mask mask;
    const std::uint64_t* addresses;
    unsigned bytes; ///< per lane
};

std::uint64_t sectors_of(const Request&);
/// Of shared memory. @param ideal passes if no two lanes met in a bank
std::uint64_t passes_of(const Request&, bool load, std::uint64_t* ideal = nullptr);
/// The bytes that the lanes ask for, each counted once.
std::uint64_t bytes_of(const Request&);

/// Counts a launch and writes one line of JSON when it ends. CUDA_EMULATOR_STEPS: so many requests of the first block
/// are written one by one.
std::unique_ptr<Observer> count_launch(std::ostream& out, std::mutex& lock);

/// Several observers as one. The states of blocks belong to the first, those of warps to the second.
std::unique_ptr<Observer> both(std::unique_ptr<Observer> first, std::unique_ptr<Observer> second);

} // namespace cuda_emulator
