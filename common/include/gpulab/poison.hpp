/// @file
/// The values that mark an output nobody has written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "gpulab/parallel.hpp"

namespace gpulab {

/// The value of each byte in an array of T that nobody has written. For floating point and structures of it: all bits
/// set, a NaN. For integers: a pattern that is an unlikely answer (-1 is a likely one: "not found").
template <class T> constexpr unsigned char poison_byte_for() { return std::is_integral_v<T> ? 0xA7 : 0xFF; }

/// The same as a value: a NaN for floating point, 0xA7A7... for integers.
template <class T> constexpr T poison_value() {
    if constexpr (sizeof(T) == 4 && std::is_floating_point_v<T>) return std::bit_cast<T>(~std::uint32_t{0});
    else if constexpr (std::is_floating_point_v<T>) return std::bit_cast<T>(~std::uint64_t{0});
    else return static_cast<T>(0xA7A7A7A7A7A7A7A7u);
}

/// Fills an output before a variant runs, so that a stale or unwritten element cannot pass for an answer.
template <class T> void poison(std::vector<T>& values) {
    constexpr std::size_t worth_a_thread = std::size_t{1} << 20;
    for_ranges(values.size(), worth_a_thread, [&](std::size_t begin, std::size_t end) {
        // Not std::fill: <algorithm> would take up to a fifth of the time in which a CUDA rung compiles.
        for (std::size_t i = begin; i < end; ++i) values[i] = poison_value<T>();
    });
}

/// Whether a value has exactly the bits of poison_value(). A NaN that a kernel makes, from 0/0 or inf-inf, has others.
/// A NaN that goes through an operation may keep its bits: the sum of a poisoned number and a right one can be poison,
/// too.
template <class T> bool is_poison(const T& value) {
    const T poison = poison_value<T>();
    return std::memcmp(&value, &poison, sizeof(T)) == 0;
}

} // namespace gpulab
