/// @file
/// Guard bands: sentinel bytes before and after every device buffer, so that a stray write is seen.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace gpulab {

/// Bytes of the sentinel band on each side of a buffer: 4096, or what the environment variable GPULAB_GUARD_BYTES says
/// (at most 64 Mi, rounded up to a multiple of 512). They detect near misses; the sanitizers detect writes further
/// away. 0 gives buffers of exactly the size asked for, so that compute-sanitizer and oclgrind see the first byte
/// outside.
std::size_t guard_bytes();

namespace detail {
std::size_t guard_bytes_from(const char* text); // of GPULAB_GUARD_BYTES; nullptr when it is not set
} // namespace detail

/// The value of each byte in an output's guard band: 3.4e38 as a float, so that reading them shows as well.
inline constexpr unsigned char guard_byte = 0x7F;

/// The value of each byte in an input's guard band: NaN as float or double, so that no sum can hide that it was read;
/// -1 as an index, so that a read at this index meets a guard band again.
inline constexpr unsigned char input_guard_byte = 0xFF;

/// A guard band that no minimum can hide: -1.7e38 as a float, -5.5e303 as a double, -16843010 as an int.
inline constexpr unsigned char low_guard_byte = 0xFE;
/// A guard band that no maximum can hide: 3.4e38 as a float, 1.4e306 as a double, 2139062143 as an int.
inline constexpr unsigned char high_guard_byte = 0x7F;

namespace detail {
/// What the guard bands of new buffers are filled with.
struct BandBytes {
    unsigned char output = guard_byte;
    unsigned char input = input_guard_byte;
};
inline BandBytes band_bytes;
} // namespace detail

/// While it lives, the guard bands of new buffers, inputs and outputs alike, hold another byte.
///
/// A sum that reads a NaN is NaN, but `fmin(NaN, x)` is x: a minimum that reads past the end of its input, or of its
/// blocks' results, stays right. So the checks of such an operation surround its buffers with a value that would win:
///
///     const gpulab::GuardBands below(gpulab::low_guard_byte); // for a minimum
class GuardBands {
public:
    /// @param byte low_guard_byte, high_guard_byte, or any other
    explicit GuardBands(unsigned char byte) : before_(std::exchange(detail::band_bytes, {byte, byte})) {}
    ~GuardBands() { detail::band_bytes = before_; }
    GuardBands(const GuardBands&) = delete;
    GuardBands& operator=(const GuardBands&) = delete;

private:
    detail::BandBytes before_;
};

/// Whether buffers and resets poison: yes, unless the environment variable GPULAB_POISON is 0. Then fresh CUDA memory
/// stays uninitialised, so that compute-sanitizer's initcheck reports a kernel that reads it.
bool poisons();

/// poisoning() fills the whole of a CUDA buffer of at most this many bytes, and both ends of a larger one. Filling the
/// whole changes what is in the L2 cache when the timed run begins: cuda_vectorised of lab 01 then took 7 % longer for
/// 2^26 elements on an H200. The tests, where the time does not matter, set this to the largest number there is.
inline std::size_t poison_whole_bytes = std::size_t{1} << 20;
/// How many bytes poisoning() fills at each end of a larger buffer.
inline constexpr std::size_t poison_end_bytes = std::size_t{1} << 14;

/// Checks both bands after a kernel.
/// @param before,after the bands, copied to the host; `bytes` each
/// @param element_bytes size of one element, for the message
/// @param expected what every byte of them was set to
/// @throws WrongResult saying on which side the kernel wrote and how far from the output
void check_guards(const unsigned char* before, const unsigned char* after, std::size_t bytes, std::size_t element_bytes,
                  unsigned char expected = guard_byte);

/// Remembers that a buffer was freed with a damaged guard band, because a destructor cannot throw: an input, or scratch
/// memory that is never copied out. Damage that was thrown already is not noted.
///
/// A variant that throws may leave a note about its inputs: take it before the next variant runs.
void note_stray_write(const std::string& message) noexcept;

/// What note_stray_write() was told since the last call; "" when nothing.
std::string take_stray_write();

} // namespace gpulab
