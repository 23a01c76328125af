/// @file
/// Lab 05: an image is copied to the device, inverted and copied back, in strips, so that copies and kernels overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpulab/forward.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/trace/trace.hpp"
#include "gpulab/variant.hpp"

/// Lab 05: streams.
namespace streams {

using gpulab::Stopwatch;

/// An image and the settings with which to process it.
struct Problem {
    gpulab::Image image;
    unsigned work = 0;           ///< rounds of work per byte before it is inverted
    std::size_t streams = 1;     ///< 1 ... 64: strips, and streams or queues where each strip has its own
    unsigned mapped_blocks = 32; ///< blocks of a kernel that loads or stores across the link, without work
    std::size_t bytes() const { return image.pixels.size(); }
};

/// What a variant gives back.
struct Output {
    std::vector<unsigned char> pixels; ///< as many as the image has
    gpulab::Timeline timeline;         ///< one pass, command by command; empty for CPU variants
    double traced_ms = 0;              ///< the time of that pass; the events make it slower than the timed passes
};

/// Marks the output as unwritten.
void poison(Output& out);

/// A variant, from host data to host data. The stopwatch records whole passes: copies up, kernels and copies down, from
/// the first call until the last byte is back, by the host's steady clock. A pass does not contain allocating memory,
/// copying the image into page-locked memory or the result out of it; the total time does.
using Run = void(const Problem& p, Output& out, Stopwatch& watch);

/// An image of random bytes, alpha included.
gpulab::Image random_image(std::size_t width, std::size_t height, int channels, std::uint64_t seed);

/// One round of work on a byte: an invertible step of integer arithmetic modulo 256, equal on every device.
constexpr unsigned char work_round(unsigned char v) {
    v = static_cast<unsigned char>(v * 181u + 97u);
    return static_cast<unsigned char>(v ^ (v >> 3));
}

/// Which of four neighbouring bytes are colour: bit i for byte i. Alpha stays as it is, because inverting it would make
/// opaque pixels invisible.
constexpr unsigned colour_bytes(int channels) { return channels == 4 ? 0b0111u : channels == 2 ? 0b0101u : 0b1111u; }

/// The right answer. It is computed in a way that no variant uses, from a table of all 256 bytes, so that a mistake in
/// a rung is not repeated in the reference.
Output reference_output(const Problem& p);

/// Transforms rows [first, last) of the image, byte by byte. Both CPU rungs use it.
void transform_rows(const Problem& p, Output& out, std::size_t first_row, std::size_t last_row);

/// Whole rows of the image that are copied and transformed together.
struct Strip {
    std::size_t first = 0; ///< offset of the first byte in the image
    std::size_t bytes = 0;
};

/// Cuts the image into `count` strips whose heights differ by one row at most, or into one strip per row when it has
/// fewer rows. Every row belongs to one strip. @pre count >= 1
std::vector<Strip> equal_strips(const gpulab::Image& image, std::size_t count);

/// The mark of cuda_polling: a word that holds it has not arrived yet. In an image of four channels, only a pixel with
/// an alpha of 0x5E can equal it; otherwise, only the four neighbouring bytes 0x77, 0x1A, 0xED, 0x5E.
inline constexpr std::uint32_t nothing_yet = 0x5E'ED'1A'77;

/// Every byte must be equal, because integer arithmetic is exact.
gpulab::Comparison compare(const Output& reference, const Output& out);

/// The ladder, in reading order: one row per rung.
std::span<const gpulab::Variant<Run>> variants();

} // namespace streams
