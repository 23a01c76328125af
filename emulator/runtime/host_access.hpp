/// @file
/// Device memory is a host's memory here, and yet the host must not touch it: as on a GPU, a program that does so ends
/// with a segmentation fault, behind a line that says why.
#pragma once

#include <cstddef>

namespace cuda_emulator {

/// Allocations for devices begin with a page, so that each has its own.
inline constexpr std::size_t page_bytes = 4096;

/// From now on the host may touch a range only while a DeviceMemoryOpen lives.
void close_to_host(void* begin, std::size_t bytes);
/// The range goes back to the arena.
void open_to_host(void* begin);

/// While one lives, in any thread, commands may read and write all memory. They may be nested.
class DeviceMemoryOpen {
public:
    DeviceMemoryOpen();
    ~DeviceMemoryOpen();
    DeviceMemoryOpen(const DeviceMemoryOpen&) = delete;
    DeviceMemoryOpen& operator=(const DeviceMemoryOpen&) = delete;
};

} // namespace cuda_emulator
