#pragma once
#include <cstddef>
#include <cstdint>

namespace cuda_emulator {

/// What a texture object (cudaTextureObject_t) is the host address of: linear memory, read by whole numbers.
struct Texture {
    std::uintptr_t address = 0; ///< device memory
    std::size_t elements = 0;
    unsigned channels = 1, bytes_per_channel = 4;
    bool is_signed = false, is_float = false;
};

} // namespace cuda_emulator
