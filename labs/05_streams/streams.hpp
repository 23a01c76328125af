/// @file
/// Lab 05: an image goes to the device, is inverted there and comes back, in strips, so that copies and kernels
/// overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/trace/trace.hpp"
#include "gpulab/variant.hpp"

/// Lab 05: streams.
namespace streams {

using gpulab::Stopwatch;

/// What is to be done: an image, and how.
struct Problem {
    gpulab::Image image;
    unsigned work = 0;           ///< rounds of work per byte before it is inverted
    std::size_t streams = 1;     ///< 1 ... 64: streams or queues, and strips
    double mapped_share = 0.10;  ///< cuda_mixed: the part of the rows that never goes through a copy engine, 0 ... 1
    unsigned mapped_blocks = 32; ///< of a kernel that loads or stores across the link, when there is no work
    std::size_t bytes() const { return image.pixels.size(); }
};

/// What a variant gives back.
struct Output {
    std::vector<unsigned char> pixels; ///< as long as the image's
    gpulab::Timeline timeline;         ///< one pass, command by command; empty when there is nothing to see
    double traced_ms = 0;              ///< what that pass took; the events make it slower than the timed ones
};

/// Marks the output as unwritten.
void poison(Output& out);

/// A variant: from host data to host data. The stopwatch records whole passes: copies up, kernels and copies down,
/// from the first call until the last byte is back, by the steady clock of the host. Allocating memory, and filling
/// page-locked memory with the image, is not in it (it is in the total time).
using Run = void(const Problem& p, Output& out, Stopwatch& watch);

/// An image of random bytes, alpha included.
gpulab::Image random_image(std::size_t width, std::size_t height, int channels, std::uint64_t seed);

/// One round of work on a byte: an invertible step of integer arithmetic modulo 256, the same on every device.
constexpr unsigned char work_round(unsigned char v) {
    v = static_cast<unsigned char>(v * 181u + 97u);
    return static_cast<unsigned char>(v ^ (v >> 3));
}

/// Which bytes of four neighbouring ones are colour: bit i for byte i. Alpha is kept as it is, because an inverted
/// alpha would turn opaque pixels into invisible ones.
constexpr unsigned colour_bytes(int channels) { return channels == 4 ? 0b0111u : channels == 2 ? 0b0101u : 0b1111u; }

/// What every variant must give. It is worked out in another way than any of them does it, from a table of all 256
/// bytes, so that a mistake in a rung is not one in the answer that it is held against.
Output reference_output(const Problem& p);

/// Transforms rows [first, last) of the image, byte by byte. Both CPU rungs work with it.
void transform_rows(const Problem& p, Output& out, std::size_t first_row, std::size_t last_row);

/// Whole rows of the image that travel together.
struct Strip {
    std::size_t first = 0; ///< byte
    std::size_t bytes = 0;
};

/// Cuts the image into at most `count` strips whose heights differ by one row at most. No row is lost; there are fewer
/// strips when the image has fewer rows. @pre count >= 1
std::vector<Strip> equal_strips(const gpulab::Image& image, std::size_t count);

/// The same with heights that grow evenly from the first strip to the last, but for the rounding to whole rows.
/// @param last_to_first how many times as high as the first the last is
/// @pre count >= 1, last_to_first >= 1
std::vector<Strip> growing_strips(const gpulab::Image& image, std::size_t count, std::size_t last_to_first = 2);

/// cuda_polling's mark: a word that holds it has not arrived yet. Of four channels only a pixel with an alpha of 0x5E
/// can look like it; of fewer channels, four neighbouring bytes 0x77, 0x1A, 0xED, 0x5E.
inline constexpr std::uint32_t nothing_yet = 0x5E'ED'1A'77;

/// Every byte must be equal: the arithmetic is that of integers.
gpulab::Comparison compare(const Output& reference, const Output& out);

/// The ladder, in reading order: one row per rung.
std::span<const gpulab::Variant<Run>> variants();

} // namespace streams
