#include "instructions/floating.hpp"

// PTX ISA 9.7.3 Floating-point arithmetic, in single and double precision. add, mul, fma, div.rn, sqrt.rn are those of
// IEEE 754, as on the host. Approximations (.approx) are as exact as the host's functions, so within the ISA's bounds.

namespace cuda_emulator {
namespace {

constexpr auto add = [](auto a, auto b) { return with_nan(a + b, a, b); };
constexpr auto sub = [](auto a, auto b) { return with_nan(a - b, a, b); };
constexpr auto mul = [](auto a, auto b) { return with_nan(a * b, a, b); };
constexpr auto quotient = [](auto a, auto b) { return a / b; };
// div.approx multiplies by 1/b, which is 0 beyond 2^126.
constexpr auto quick_quotient = []<class T>(T a, T b) -> T {
    return std::fabs(b) > T(0x1p126) && std::isfinite(b) ? a * std::copysign(T{0}, b) : a / b;
};
constexpr auto fma = [](auto a, auto b, auto c) { return with_nan(std::fma(a, b, c), a, b, c); };
// mul.ftz flushes what is subnormal before it is rounded.
constexpr auto mul_flushed = [](auto a, auto b) {
    const auto product = a * b;
    return std::fabs(static_cast<double>(a) * b) < std::numeric_limits<float>::min()
               ? std::copysign(decltype(product){0}, product)
               : product;
};
constexpr auto reciprocal = []<class T>(T a) { return T{1} / a; };
constexpr auto root = [](auto a) { return std::sqrt(a); };
constexpr auto root_reciprocal = []<class T>(T a) { return T{1} / std::sqrt(a); };

// The number if the other operand is NaN; -0 is less than +0.
template <bool greatest>
constexpr auto extreme = []<class T>(T a, T b) -> T {
    if (a != a) return b == b ? b : with_nan(a, a, b);
    if (b != b) return a;
    if (a == b) return std::signbit(a) == greatest ? b : a;
    return (a < b) == greatest ? b : a;
};
template <bool greatest>
constexpr auto extreme_or_nan =
    []<class T>(T a, T b) -> T { return a != a || b != b ? with_nan(a + b, a, b) : extreme<greatest>(a, b); };

template <bool negate>
constexpr auto change_sign = []<class T>(T a) -> T { return negate ? -with_nan(a, a) : std::fabs(with_nan(a, a)); };

template <bool negate> void decode_sign(Decoder& decoder, Type type) {
    decode_floats(decoder, type, change_sign<negate>, decoder.take("ftz") ? flush : 0);
}

// d = f(a) for .approx instructions, which exist in f32 only.
template <class F> void approximate(Decoder& decoder, F f) {
    decoder.take("approx");
    const bool ftz = decoder.take("ftz");
    decode_floats(decoder, decoder.take_type(), f, ftz ? flush : 0);
}

// Only the upper half of the result is set (9.7.3.14, 9.7.3.18).
constexpr auto upper_half = [](double x) { return std::bit_cast<double>(std::bit_cast<u64>(x) & ~u64{0xffffffff}); };

template <class F> void decode_reciprocal(Decoder& decoder, F f) {
    if (!decoder.take("approx")) {
        const u16 modifiers = take_float_modifiers(decoder);
        return decode_floats(decoder, decoder.take_type(), f, modifiers);
    }
    const bool ftz = decoder.take("ftz");
    const Type type = decoder.take_type();
    if (type == Type::f32) return decode_floats(decoder, type, f, ftz ? flush : 0);
    own_types<double, double>(decoder, type, {type}, [](double a) {
        if (std::fpclassify(a) == FP_SUBNORMAL) a = std::copysign(0.0, a);
        return upper_half(F{}(a));
    });
}

} // namespace

void floating_add(Decoder& decoder, Type type) { decode_floats(decoder, type, add, take_float_modifiers(decoder)); }
void floating_sub(Decoder& decoder, Type type) { decode_floats(decoder, type, sub, take_float_modifiers(decoder)); }
void floating_mul(Decoder& decoder, Type type) {
    const u16 modifiers = take_float_modifiers(decoder);
    if (modifiers & flush) decode_floats(decoder, type, mul_flushed, modifiers);
    else decode_floats(decoder, type, mul, modifiers);
}
void floating_fma(Decoder& decoder, Type type) { decode_floats(decoder, type, fma, take_float_modifiers(decoder)); }
void floating_abs(Decoder& decoder, Type type) { decode_sign<false>(decoder, type); }
void floating_neg(Decoder& decoder, Type type) { decode_sign<true>(decoder, type); }

void floating_div(Decoder& decoder, Type type) {
    if (decoder.take("approx")) return decode_floats(decoder, type, quick_quotient, decoder.take("ftz") ? flush : 0);
    if (decoder.take("full")) return decode_floats(decoder, type, quotient, decoder.take("ftz") ? flush : 0);
    decode_floats(decoder, type, quotient, take_float_modifiers(decoder));
}

void floating_min_max(Decoder& decoder, Type type, bool greatest) {
    const bool ftz = decoder.take("ftz"), nan = decoder.take("NaN");
    const u16 modifiers = ftz ? flush : 0;
    if (nan)
        greatest ? decode_floats(decoder, type, extreme_or_nan<true>, modifiers)
                 : decode_floats(decoder, type, extreme_or_nan<false>, modifiers);
    else
        greatest ? decode_floats(decoder, type, extreme<true>, modifiers)
                 : decode_floats(decoder, type, extreme<false>, modifiers);
}

void define_floating(InstructionSet& set) {
    set.define("testp", "9.7.3.1", [](Decoder& decoder) {
        const int what = decoder.take_one({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
        const Type type = decoder.take_type();
        if (what < 0) decoder.unsupported();
        decoder.out(0, Type::pred);
        decoder.in(1, type);
        decoder.instruction->modifiers = static_cast<u16>(what);
        decoder.instruction->execute = [](Warp& warp, const Instruction& instruction, Mask mask) {
            const bool single = instruction.immediate == 4;
            Mask& d = warp.predicate(instruction.operands[0]);
            for_lanes(mask, [&](unsigned lane) {
                const int is = single ? std::fpclassify(warp.at<float>(instruction.operands[1])[lane])
                                      : std::fpclassify(warp.at<double>(instruction.operands[1])[lane]);
                const bool answer[] = {is != FP_NAN && is != FP_INFINITE,
                                       is == FP_INFINITE,
                                       is != FP_NAN,
                                       is == FP_NAN,
                                       is == FP_NORMAL,
                                       is == FP_SUBNORMAL};
                d = (d & ~(Mask{1} << lane)) | Mask{answer[instruction.modifiers]} << lane;
            });
        };
        decoder.instruction->immediate = size_of(type);
    });
    set.define("copysign", "9.7.3.2", [](Decoder& decoder) { // the sign of a, the rest of b
        const Type type = decoder.take_type();
        if (type == Type::f32)
            own_types<u32, u32, u32>(decoder, type, {type, type},
                                     [](u32 a, u32 b) { return (a & 0x80000000u) | (b & 0x7fffffffu); });
        else
            own_types<u64, u64, u64>(decoder, type, {type, type},
                                     [](u64 a, u64 b) { return (a & u64{1} << 63) | (b & ~u64{0} >> 1); });
    });
    set.define("fma", "9.7.3.6, 9.7.4.4", [](Decoder& decoder) { by_type(decoder, nullptr, floating_fma, half_fma); });
    set.define("rcp", "9.7.3.13, 9.7.3.14", [](Decoder& decoder) { decode_reciprocal(decoder, reciprocal); });
    set.define("sqrt", "9.7.3.15", [](Decoder& decoder) { decode_reciprocal(decoder, root); });
    set.define("rsqrt", "9.7.3.16, 9.7.3.17", [](Decoder& decoder) { decode_reciprocal(decoder, root_reciprocal); });
    set.define("sin", "9.7.3.18", [](Decoder& decoder) { approximate(decoder, [](auto a) { return std::sin(a); }); });
    set.define("cos", "9.7.3.19", [](Decoder& decoder) { approximate(decoder, [](auto a) { return std::cos(a); }); });
    set.define("lg2", "9.7.3.20", [](Decoder& decoder) { approximate(decoder, [](auto a) { return std::log2(a); }); });
    set.define("ex2", "9.7.3.21", [](Decoder& decoder) { approximate(decoder, [](auto a) { return std::exp2(a); }); });
    set.define("tanh", "9.7.3.22", [](Decoder& decoder) { approximate(decoder, [](auto a) { return std::tanh(a); }); });
}

} // namespace cuda_emulator
