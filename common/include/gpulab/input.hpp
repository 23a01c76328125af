/// @file
/// Seeded random inputs: the same numbers on every machine, never constant, never zero.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpulab/parallel.hpp"

namespace gpulab {

/// A well-mixed 64-bit number from a seed and a position (SplitMix64: Steele, Lea, Flood, OOPSLA 2014).
/// Counter-based: any thread can compute any element, in any order and at the same cost.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
    std::uint64_t z = (seed + 1) * 0xD1342543DE82EF95u + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/// A number in the open interval (0, 1), never exactly 0 or 1, with all the digits that T has, so that doubles
/// show when a kernel computes in float.
/// @tparam T float or double
template <class T = double> constexpr T random_unit(std::uint64_t seed, std::uint64_t i) {
    if constexpr (sizeof(T) == sizeof(float)) {
        return static_cast<T>((static_cast<double>(random_bits(seed, i) >> 41) + 0.5) /
                              8388608.0); // 23 bits and a half
    } else {
        return (static_cast<T>(random_bits(seed, i) >> 12) + T(0.5)) / T(4503599627370496.0); // 52 bits and a half
    }
}

namespace detail {
/// A value computed for the open interval (low, high), moved inside if rounding made it an end or zero.
template <class T> T inside(T value, T low, T high) {
    if (!(value > low)) return std::nextafter(low, high);
    if (!(value < high)) return std::nextafter(high, low);
    if (value == T{0}) return high / 2 != T{0} ? high / 2 : low / 2;
    return value;
}
} // namespace detail

/// A number in the open interval (low, high): never one of the ends, and never zero.
/// @tparam T float or double
/// @pre low < high, both finite, and at least one number of T other than zero lies between them
template <class T> T random_between(std::uint64_t seed, std::uint64_t i, T low, T high) {
    const double from = low, width = static_cast<double>(high) - from, u = static_cast<double>(random_unit<T>(seed, i));
    // By fma, so that the number does not depend on whether the compiler fuses the two operations.
    const double number = std::isfinite(width) ? std::fma(width, u, from) : std::fma(high, u, from * (1 - u));
    return detail::inside(static_cast<T>(number), low, high);
}

/// Fills values with numbers in (low, high), using all CPU threads: element i is random_between(seed, i, low, high).
/// @throws Error when no number lies between low and high
void fill_random(std::span<float> values, std::uint64_t seed, float low = -1, float high = 1);
/// The same in double precision.
void fill_random(std::span<double> values, std::uint64_t seed, double low = -1, double high = 1);

/// n random numbers in (low, high).
/// @tparam T float or double
template <class T> std::vector<T> random_vector(std::size_t n, std::uint64_t seed, T low = -1, T high = 1) {
    std::vector<T> values = zeros<T>(n);
    fill_random(std::span<T>(values), seed, low, high);
    return values;
}

} // namespace gpulab
