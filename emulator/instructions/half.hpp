#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

// 16-bit floating-point numbers: binary16 (f16) and bfloat16 (bf16), and tf32.

namespace cuda_emulator {

/// A 16-bit format with `fraction` bits of fraction. Numbers are computed in double precision and rounded once.
template <unsigned fraction> struct Narrow {
    static constexpr unsigned exponent_bits = 15 - fraction;
    static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    static constexpr std::uint16_t infinity = static_cast<std::uint16_t>(((1u << exponent_bits) - 1) << fraction);
    static constexpr std::uint16_t nan = 0x7fff, largest = infinity - 1;
    std::uint16_t bits = 0;

    double value() const {
        if constexpr (fraction == 7)
            return std::bit_cast<float>(std::uint32_t{bits} << 16); // bf16 is the upper half of f32
        const unsigned exponent = (bits & 0x7fff) >> fraction, rest = bits & ((1u << fraction) - 1);
        double magnitude;
        if (exponent == (1u << exponent_bits) - 1) magnitude = rest ? NAN : HUGE_VAL;
        else if (!exponent) magnitude = std::ldexp(rest, 1 - bias - static_cast<int>(fraction));
        else
            magnitude =
                std::ldexp(rest | 1u << fraction, static_cast<int>(exponent) - bias - static_cast<int>(fraction));
        return std::copysign(magnitude, bits & 0x8000 ? -1.0 : 1.0);
    }
    bool is_nan() const { return (bits & 0x7fff) > infinity; }

    /// Rounded: 0 to nearest even, 1 to zero, 2 down, 3 up, 4 to nearest with ties away from zero.
    static Narrow of(double x, unsigned rounding = 0) {
        if (x != x) return {nan};
        const bool negative = std::signbit(x);
        const double magnitude = std::fabs(x);
        const std::uint16_t sign = negative ? 0x8000 : 0;
        if (magnitude == 0) return {sign};
        if (magnitude == HUGE_VAL) return {static_cast<std::uint16_t>(sign | infinity)};
        int exponent = 0;
        std::frexp(magnitude, &exponent);
        const int unit = std::max(exponent - 1, 1 - bias) - static_cast<int>(fraction); // of the last place
        const double scaled = std::ldexp(magnitude, -unit), whole = std::floor(scaled), rest = scaled - whole;
        auto count = static_cast<std::uint64_t>(whole);
        const bool up = rounding == 0   ? rest > 0.5 || (rest == 0.5 && count & 1)
                        : rounding == 2 ? negative && rest > 0
                        : rounding == 3 ? !negative && rest > 0
                        : rounding == 4 ? rest >= 0.5
                                        : false;
        count += up;
        // Counted in last places from the least subnormal number, the format is its own bits.
        const std::uint64_t result =
            count + (static_cast<std::uint64_t>(unit - (1 - bias - static_cast<int>(fraction))) << fraction);
        if (result < infinity) return {static_cast<std::uint16_t>(sign | result)};
        const bool to_infinity =
            rounding == 0 || rounding == 4 || (rounding == 2 && negative) || (rounding == 3 && !negative);
        return {static_cast<std::uint16_t>(sign | (to_infinity ? infinity : largest))};
    }
};
using Half = Narrow<10>;
using Bfloat = Narrow<7>;

/// a + b with what rounding dropped in the last bit ("rounding to odd"), so that rounding again is rounding once.
/// (Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008)
inline double add_to_odd(double a, double b) {
    const double sum = a + b;
    if (!std::isfinite(sum)) return sum;
    const double of_b = sum - a, error = (a - (sum - of_b)) + (b - of_b);
    auto bits = std::bit_cast<std::uint64_t>(sum);
    if (error != 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
    return std::bit_cast<double>(bits);
}

/// f32 to tf32: ten bits of fraction in the upper bits of a float.
inline std::uint32_t to_tf32(std::uint32_t bits, unsigned rounding) {
    if ((bits & 0x7f800000) == 0x7f800000) return bits & ~0x1fffu;
    if (rounding == 4) bits += 0x1000;
    else if (rounding == 0) bits += 0xfff + (bits >> 13 & 1);
    return bits & ~0x1fffu;
}

} // namespace cuda_emulator
