#include "instructions/define.hpp"
#include <algorithm>
#include <cstdlib>
#include <limits>

// PTX ISA 9.7.1 Integer arithmetic, 9.7.2 Extended precision. Results are modulo 2^n (built with -fwrapv).

namespace cuda_emulator {
namespace {

using s128 = __int128;

template <class T> using Wide = std::conditional_t<std::is_signed_v<T>, s128, unsigned __int128>;

template <class T> T high_half(T a, T b) { return static_cast<T>(static_cast<Wide<T>>(a) * b >> 8 * sizeof(T)); }

template <class F> void any_integer(Decoder& decoder, Type type, F f) {
    same_type<u16, s16, u32, s32, u64, s64>(decoder, type, f);
}

// A result that does not fit becomes the least or the greatest value.
template <class F> void saturated(Decoder& decoder, Type type, F) {
    if (type != Type::s32) decoder.unsupported(".sat");
    own_types<s32, s32, s32>(decoder, type, {type, type}, [](s32 a, s32 b) {
        return static_cast<s32>(
            std::clamp<s64>(F{}(s64{a}, s64{b}), std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max()));
    });
}

// The carry flag of each lane (CC.CF) is a predicate that no name reaches.
Operand carry(Decoder& decoder) { return {decoder.kernel->carry_flag()}; }

// d = a + b + carry in; carry out. Subtraction adds the complement: CF is the borrow.
template <class T, bool subtract> void with_carry(Warp& warp, const Instruction& instruction, Mask mask) {
    const bool carry_in = instruction.modifiers & 1, carry_out = instruction.modifiers & 2;
    T* const d = warp.at<T>(instruction.operands[0]);
    const T *const a = warp.at<T>(instruction.operands[1]), *const b = warp.at<T>(instruction.operands[2]);
    Mask& flag = warp.predicate(instruction.operands[3]);
    for_lanes(mask, [&](unsigned lane) {
        using W = unsigned __int128;
        const W in = carry_in ? flag >> lane & 1 : 0;
        const W sum = subtract ? W{a[lane]} - b[lane] - in : W{a[lane]} + b[lane] + in;
        d[lane] = static_cast<T>(sum);
        if (carry_out) flag = (flag & ~(Mask{1} << lane)) | Mask((sum >> 8 * sizeof(T) & 1) != 0) << lane;
    });
}

template <bool subtract> void decode_carry(Decoder& decoder, Type type, bool in, bool out) {
    bind(decoder, type, {type, type});
    decoder.add(carry(decoder));
    decoder.instruction->modifiers = static_cast<u16>(in | out << 1);
    decoder.instruction->execute = size_of(type) == 8 ? &with_carry<u64, subtract> : &with_carry<u32, subtract>;
}

// d = low or high half of a * b, plus c, plus carry in.
template <class T> void multiply_with_carry(Warp& warp, const Instruction& instruction, Mask mask) {
    const bool carry_in = instruction.modifiers & 1, carry_out = instruction.modifiers & 2,
               high = instruction.modifiers & 4;
    T* const d = warp.at<T>(instruction.operands[0]);
    const T *const a = warp.at<T>(instruction.operands[1]), *const b = warp.at<T>(instruction.operands[2]),
                   *const c = warp.at<T>(instruction.operands[3]);
    Mask& flag = warp.predicate(instruction.operands[4]);
    for_lanes(mask, [&](unsigned lane) {
        using U = std::make_unsigned_t<T>;
        using W = unsigned __int128;
        const U product = static_cast<U>(high ? high_half(a[lane], b[lane]) : static_cast<T>(a[lane] * b[lane]));
        const W sum = W{product} + static_cast<U>(c[lane]) + (carry_in ? flag >> lane & 1 : 0);
        d[lane] = static_cast<T>(static_cast<U>(sum));
        if (carry_out) flag = (flag & ~(Mask{1} << lane)) | Mask((sum >> 8 * sizeof(T) & 1) != 0) << lane;
    });
}

void decode_mad_carry(Decoder& decoder, Type type, bool in, bool out) {
    const int half = decoder.take_one({"lo", "hi"});
    bind(decoder, type, {type, type, type});
    decoder.add(carry(decoder));
    decoder.instruction->modifiers = static_cast<u16>(in | out << 1 | (half == 1) << 2);
    decoder.instruction->execute = size_of(type) == 8
                                       ? (is_signed(type) ? &multiply_with_carry<s64> : &multiply_with_carry<u64>)
                                       : (is_signed(type) ? &multiply_with_carry<s32> : &multiply_with_carry<u32>);
}

// c + the sum of the products of four bytes.
template <class A, class B> u32 dot_of_bytes(u32 a, u32 b, u32 c) {
    for (unsigned i = 0; i < 32; i += 8) c += static_cast<u32>(static_cast<A>(a >> i) * static_cast<B>(b >> i));
    return c;
}

s64 low24(s32 x) { return x << 8 >> 8; }
u64 low24(u32 x) { return x & 0xffffff; }

Type twice(Type type) {
    switch (type) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    default: return Type::s64;
    }
}

} // namespace

void integer_add(Decoder& decoder, Type type) {
    if (decoder.take("cc")) return decode_carry<false>(decoder, type, false, true);
    const auto f = [](auto a, auto b) { return a + b; };
    if (decoder.take("sat")) return saturated(decoder, type, f);
    any_integer(decoder, type, f);
}

void integer_sub(Decoder& decoder, Type type) {
    if (decoder.take("cc")) return decode_carry<true>(decoder, type, false, true);
    const auto f = [](auto a, auto b) { return a - b; };
    if (decoder.take("sat")) return saturated(decoder, type, f);
    any_integer(decoder, type, f);
}

void integer_mul(Decoder& decoder, Type type) {
    const int part = decoder.take_one({"lo", "hi", "wide"});
    if (part == 1) {
        const auto f = [](auto a, auto b) { return high_half(a, b); };
        any_integer(decoder, type, f);
    } else if (part == 2) {
        const auto f = [](auto a, auto b) { return a * b; };
        switch (type) {
        case Type::u16:
            return own_types<u32, u16, u16>(decoder, twice(type), {type, type},
                                            [](u16 a, u16 b) { return u32{a} * b; });
        case Type::s16: return own_types<s32, s16, s16>(decoder, twice(type), {type, type}, f);
        case Type::u32:
            return own_types<u64, u32, u32>(decoder, twice(type), {type, type},
                                            [](u32 a, u32 b) { return u64{a} * b; });
        case Type::s32:
            return own_types<s64, s32, s32>(decoder, twice(type), {type, type},
                                            [](s32 a, s32 b) { return s64{a} * b; });
        default: decoder.unsupported();
        }
    } else {
        const auto f = [](auto a, auto b) { return a * b; };
        any_integer(decoder, type, f);
    }
}

void integer_min_max(Decoder& decoder, Type type, bool greatest) {
    const auto least = [](auto a, auto b) { return a < b ? a : b; };
    const auto most = [](auto a, auto b) { return a > b ? a : b; };
    if (greatest) any_integer(decoder, type, most);
    else any_integer(decoder, type, least);
}

void integer_div(Decoder& decoder, Type type) { // by zero: an unspecified value; GPUs give all ones
    const auto f = []<class T>(T a, T b) -> T {
        if (b == 0) return static_cast<T>(-1);
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - a);
        return a / b;
    };
    any_integer(decoder, type, f);
}

void integer_neg(Decoder& decoder, Type type) {
    const auto f = [](auto a) { return -a; };
    same_type<s16, s32, s64>(decoder, type, f);
}

void integer_abs(Decoder& decoder, Type type) {
    const auto f = [](auto a) { return a < 0 ? -a : a; };
    same_type<s16, s32, s64>(decoder, type, f);
}

void define_integer(InstructionSet& set) {
    set.define("addc", "9.7.2.2", [](Decoder& decoder) {
        const bool out = decoder.take("cc");
        decode_carry<false>(decoder, decoder.take_type(), true, out);
    });
    set.define("subc", "9.7.2.4", [](Decoder& decoder) {
        const bool out = decoder.take("cc");
        decode_carry<true>(decoder, decoder.take_type(), true, out);
    });
    set.define("madc", "9.7.2.6", [](Decoder& decoder) {
        const bool out = decoder.take("cc");
        decode_mad_carry(decoder, decoder.take_type(), true, out);
    });
    set.define("mad", "9.7.1.4, 9.7.2.5", [](Decoder& decoder) {
        const bool carry_out = decoder.take("cc"), sat = decoder.take("sat");
        const Type type = decoder.take_type();
        if (type == Type::f32 || type == Type::f64) return floating_fma(decoder, type); // the same as fma since sm_20
        if (carry_out) return decode_mad_carry(decoder, type, false, true);
        const int part = decoder.take_one({"lo", "hi", "wide"});
        if (part == 1 && sat)
            return own_types<s32, s32, s32, s32>(decoder, type, {type, type, type}, [](s32 a, s32 b, s32 c) {
                return static_cast<s32>(std::clamp<s64>(s64{high_half(a, b)} + c, std::numeric_limits<s32>::min(),
                                                        std::numeric_limits<s32>::max()));
            });
        if (part == 1) {
            const auto f = [](auto a, auto b, auto c) { return high_half(a, b) + c; };
            any_integer(decoder, type, f);
        } else if (part == 2) {
            const Type wide = twice(type);
            switch (type) {
            case Type::u16:
                return own_types<u32, u16, u16, u32>(decoder, wide, {type, type, wide},
                                                     [](u16 a, u16 b, u32 c) { return u32{a} * b + c; });
            case Type::s16:
                return own_types<s32, s16, s16, s32>(decoder, wide, {type, type, wide},
                                                     [](s16 a, s16 b, s32 c) { return a * b + c; });
            case Type::u32:
                return own_types<u64, u32, u32, u64>(decoder, wide, {type, type, wide},
                                                     [](u32 a, u32 b, u64 c) { return u64{a} * b + c; });
            case Type::s32:
                return own_types<s64, s32, s32, s64>(decoder, wide, {type, type, wide},
                                                     [](s32 a, s32 b, s64 c) { return s64{a} * b + c; });
            default: decoder.unsupported();
            }
        } else {
            const auto f = [](auto a, auto b, auto c) { return a * b + c; };
            any_integer(decoder, type, f);
        }
    });
    set.define("mul24", "9.7.1.5", [](Decoder& decoder) { // the low 24 bits of a and b; 48 bits of product, of which 32
        const bool high = decoder.take_one({"lo", "hi"}) == 1;
        const Type type = decoder.take_type();
        const auto low = [](auto a, auto b) { return low24(a) * low24(b); };
        const auto from_16 = [](auto a, auto b) { return low24(a) * low24(b) >> 16; };
        if (high) same_type<u32, s32>(decoder, type, from_16);
        else same_type<u32, s32>(decoder, type, low);
    });
    set.define("sad", "9.7.1.7", [](Decoder& decoder) {
        const auto f = [](auto a, auto b, auto c) { return c + (a < b ? b - a : a - b); };
        any_integer(decoder, decoder.take_type(), f);
    });
    set.define("rem", "9.7.1.9", [](Decoder& decoder) {
        const auto f = []<class T>(T a, T b) -> T {
            if (b == 0) return a;
            if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
            return a % b;
        };
        any_integer(decoder, decoder.take_type(), f);
    });
    set.define("dp4a", "9.7.1.23", [](Decoder& decoder) { // c + the sum of four products of bytes
        const Type a = decoder.take_type(), b = decoder.take_type(),
                   c = is_signed(a) || is_signed(b) ? Type::s32 : Type::u32;
        const auto decode = [&](auto f) { own_types<u32, u32, u32, u32>(decoder, c, {a, b, c}, f); };
        if (is_signed(a) && is_signed(b)) decode([](u32 x, u32 y, u32 z) { return dot_of_bytes<s8, s8>(x, y, z); });
        else if (is_signed(a)) decode([](u32 x, u32 y, u32 z) { return dot_of_bytes<s8, u8>(x, y, z); });
        else if (is_signed(b)) decode([](u32 x, u32 y, u32 z) { return dot_of_bytes<u8, s8>(x, y, z); });
        else decode([](u32 x, u32 y, u32 z) { return dot_of_bytes<u8, u8>(x, y, z); });
    });
    set.define("dp2a", "9.7.1.24", [](Decoder& decoder) { // c + two products of a's halves with bytes of b
        const int half = decoder.take_one({"lo", "hi"});
        const Type a = decoder.take_type(), b = decoder.take_type();
        if (!is_signed(a) || !is_signed(b)) decoder.unsupported("unsigned");
        if (half == 1)
            own_types<s32, s32, s32, s32>(decoder, Type::s32, {a, b, Type::s32}, [](s32 x, s32 y, s32 z) {
                return z + s16(x) * s8(y >> 16) + (x >> 16) * (y >> 24);
            });
        else
            own_types<s32, s32, s32, s32>(decoder, Type::s32, {a, b, Type::s32}, [](s32 x, s32 y, s32 z) {
                return z + s16(x) * s8(y) + (x >> 16) * s8(y >> 8);
            });
    });

    // Names that integers share with floating-point numbers: each picks by type.
    set.define("add", "9.7.1.1, 9.7.2.1, 9.7.3.3, 9.7.4.1",
               [](Decoder& decoder) { by_type(decoder, integer_add, floating_add, half_add); });
    set.define("sub", "9.7.1.2, 9.7.2.3, 9.7.3.4, 9.7.4.2",
               [](Decoder& decoder) { by_type(decoder, integer_sub, floating_sub, half_sub); });
    set.define("mul", "9.7.1.3, 9.7.3.5, 9.7.4.3",
               [](Decoder& decoder) { by_type(decoder, integer_mul, floating_mul, half_mul); });
    set.define("div", "9.7.1.8, 9.7.3.8",
               [](Decoder& decoder) { by_type(decoder, integer_div, floating_div, nullptr); });
    set.define("abs", "9.7.1.10, 9.7.3.9, 9.7.4.6",
               [](Decoder& decoder) { by_type(decoder, integer_abs, floating_abs, half_abs); });
    set.define("neg", "9.7.1.11, 9.7.3.10, 9.7.4.5",
               [](Decoder& decoder) { by_type(decoder, integer_neg, floating_neg, half_neg); });
    set.define("min", "9.7.1.12, 9.7.3.11, 9.7.4.7", [](Decoder& decoder) {
        by_type(
            decoder, [](Decoder& d, Type t) { integer_min_max(d, t, false); },
            [](Decoder& d, Type t) { floating_min_max(d, t, false); },
            [](Decoder& d, Type t) { half_min_max(d, t, false); });
    });
    set.define("max", "9.7.1.13, 9.7.3.12, 9.7.4.8", [](Decoder& decoder) {
        by_type(
            decoder, [](Decoder& d, Type t) { integer_min_max(d, t, true); },
            [](Decoder& d, Type t) { floating_min_max(d, t, true); },
            [](Decoder& d, Type t) { half_min_max(d, t, true); });
    });
}

} // namespace cuda_emulator
