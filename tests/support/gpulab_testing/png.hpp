/// @file
/// The parts of a PNG file, for files that are not as they should be.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace gpulab::testing {

/// Four bytes, the highest first.
inline std::string png_number(std::uint32_t v) {
    std::string s;
    for (int shift = 24; shift >= 0; shift -= 8) s += static_cast<char>(v >> shift & 255);
    return s;
}

/// A chunk with the right length and checksum. @param type four letters
inline std::string png_chunk(const std::string& type, const std::string& data) {
    const std::string checked = type + data;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
    return png_number(static_cast<std::uint32_t>(data.size())) + checked + png_number(static_cast<std::uint32_t>(sum));
}

} // namespace gpulab::testing
