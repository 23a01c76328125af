/// @file
/// Guard bands: sentinel bytes before and after every device output, so that a stray write is seen.
#pragma once

#include <cstddef>
#include <string>

namespace gpulab {

/// Bytes of the sentinel band on each side of an output buffer: 4096, or what the environment variable
/// GPULAB_GUARD_BYTES says (rounded up to a multiple of 512). 0 gives buffers of exactly the size asked for, so
/// that compute-sanitizer and oclgrind see the first byte outside.
std::size_t guard_bytes();

/// What every byte of a guard band holds.
inline constexpr unsigned char guard_byte = 0xA5;

/// What every byte of a fresh output holds: NaN as float or double, -1 as an integer.
inline constexpr unsigned char poison_byte = 0xFF;

/// Looks at both bands after a kernel.
/// @param before,after the bands, copied to the host; `bytes` each
/// @param element_bytes size of one element, for the message
/// @throws WrongResult saying on which side the kernel wrote and how far from the output
void check_guards(const unsigned char* before, const unsigned char* after, std::size_t bytes,
                  std::size_t element_bytes);

} // namespace gpulab
