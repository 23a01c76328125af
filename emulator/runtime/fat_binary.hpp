/// @file
/// What nvcc embeds in a program: one container per source file, with PTX and machine code for several devices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cuda_emulator {

/// The PTX of one entry of a fat binary, as it lies there.
struct PtxImage {
    int capability = 0; ///< 10 * major + minor of the target
    std::span<const std::uint8_t> bytes;
    std::size_t whole_size = 0; ///< after decompression
    enum class Packing { none, lz4, zstd } packing = Packing::none;

    /// The text. @throws std::runtime_error when it cannot be decompressed
    std::string text() const;
};

/// The entries of a container. It refers to the program's memory.
struct FatBinary {
    std::string source; ///< the name of the source file, as nvcc notes it
    std::vector<PtxImage> ptx;
    std::vector<int> machine_code; ///< capabilities of the entries that hold SASS

    /// The newest PTX that a device of this capability can run. @return nullptr when there is none
    const PtxImage* best_for(int capability) const;
};

/// Reads the container that the wrapper of __cudaRegisterFatBinary() points to.
/// @throws std::runtime_error when it is none
FatBinary read_fat_binary(const void* wrapper);
/// Reads a container in memory, wrapped or not: what cudaLibraryLoadData() gets.
FatBinary read_container(const void* container);

/// Decompresses a block in LZ4's format. (Collet, LZ4 Block Format Description)
/// @throws std::runtime_error when the input is damaged, or the result is not exactly size bytes long
std::string decompress_lz4(std::span<const std::uint8_t> in, std::size_t size);

} // namespace cuda_emulator
