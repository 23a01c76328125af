/// @file
/// Pictures of 8 bits per channel, read from and written to PNG files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpulab/file.hpp"

namespace gpulab {

/// Rows from top to bottom, pixels from left to right, the channels of a pixel side by side, without padding.
struct Image {
    std::size_t width = 0;
    std::size_t height = 0;
    int channels = 1; ///< 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
    std::vector<unsigned char> pixels;

    std::size_t row_bytes() const { return width * static_cast<std::size_t>(channels); }
    std::size_t bytes() const { return row_bytes() * height; }
    bool has_alpha() const { return channels == 2 || channels == 4; }
};

/// The most bytes of pixels that read_png() and write_png() take: 512 MiB.
inline constexpr std::size_t max_png_bytes = std::size_t{1} << 29;

/// Reads a PNG file. A palette becomes RGB or RGBA; channels of 16 bits are rounded to 8, those of fewer bits scaled
/// up.
/// @throws UsageError with one line that names the file and the fault, when the file cannot be read, is not a PNG, is
///         truncated or damaged, announces more than max_png_bytes, or main memory does not suffice
Image read_png(const std::string& path);

/// Reads a PNG file whose pixels are numbers, not colours: the values of a grey picture as they are in the file, not
/// scaled, or the indices of an indexed one, not its palette. Transparency does not count.
/// @param of what the numbers count, for the message: "materials"
/// @return an image of one channel
/// @throws UsageError as read_png() does, and for a picture in colours, one of 16 bits, or grey with alpha
Image read_png_numbers(const std::string& path, const std::string& of);

/// Writes a PNG file, whole or not at all (see OutputFile). Random pixels do not compress: such a file is about as
/// large as its pixels.
/// @pre image.pixels.size() == image.bytes()
/// @throws UsageError for an image without pixels or with more than max_png_bytes
/// @throws Error when the disk is full
void write_png(OutputFile& file, const Image& image);

/// The bytes of a PNG file. @pre image.pixels.size() == image.bytes(), 1 to max_png_bytes
std::string encoded_png(const Image& image);

} // namespace gpulab
