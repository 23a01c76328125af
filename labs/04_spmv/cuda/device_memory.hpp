/// @file
/// The check of the formats that pad: they can take many times the bytes that main() has counted.
#pragma once

#include <cuda_runtime_api.h>
#include <string>

#include "gpulab/error.hpp"

namespace spmv {

/// Refuses a format that takes more bytes than the current device has left.
/// @param format its name, for the message
/// @throws Unsupported "FORMAT takes ... bytes, the device has ... left"
inline void check_device_memory(const std::string& format, std::size_t bytes) {
    if (std::size_t free = 0, all = 0; cudaMemGetInfo(&free, &all) == cudaSuccess && bytes > free)
        throw gpulab::Unsupported(format + " takes " + std::to_string(bytes) + " bytes, the device has " +
                                  std::to_string(free) + " left");
}

} // namespace spmv
