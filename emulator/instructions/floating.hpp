#pragma once
#include "instructions/define.hpp"
#include <cfenv>
#include <cmath>
#include <limits>

// What floating-point instructions share (PTX ISA 9.7.3): rounding, subnormals, saturation, NaN.

namespace cuda_emulator {

/// In Instruction::modifiers: the rounding in the two lowest bits, then .ftz and .sat.
enum FloatModifiers : u16 { to_nearest = 0, to_zero = 1, downwards = 2, upwards = 3, flush = 4, saturate = 8 };

/// Takes .rn, .rz, .rm, .rp, .ftz and .sat.
inline u16 take_float_modifiers(Decoder& decoder) {
    const int rounding = decoder.take_one({"rn", "rz", "rm", "rp"});
    return static_cast<u16>((rounding > 0 ? rounding : 0) | (decoder.take("ftz") ? flush : 0) |
                            (decoder.take("sat") ? saturate : 0));
}

/// Rounds as a modifier says while it lives.
class RoundingScope {
public:
    explicit RoundingScope(u16 modifiers) {
        constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
        std::fesetround(modes[modifiers & 3]);
    }
    ~RoundingScope() { std::fesetround(FE_TONEAREST); }
};

/// A subnormal number becomes a zero of its sign.
inline float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
inline double flushed(double x) { return x; }

/// GPUs give one NaN in single precision.
inline float canonical(float x) { return x != x ? std::bit_cast<float>(0x7fffffffu) : x; }
inline double canonical(double x) { return x; }

/// In double precision they keep an operand's NaN, and made quiet: the second operand's before the third's before the
/// first's.
template <class... S> float with_nan(float result, S...) { return result; }
inline double quiet(double x) { return std::bit_cast<double>(std::bit_cast<u64>(x) | u64{1} << 51); }
inline double with_nan(double result, double a) { return a != a ? quiet(a) : result; }
inline double with_nan(double result, double a, double b) { return b != b ? quiet(b) : with_nan(result, a); }
inline double with_nan(double result, double a, double b, double c) {
    return b != b ? quiet(b) : c != c ? quiet(c) : with_nan(result, a);
}

/// Into [0, 1]; NaN becomes 0.
template <class T> T saturated(T x) { return x > 0 ? (x < 1 ? x : T{1}) : T{0}; }

/// d = f(a, …), rounded to nearest.
template <class F, class T, class... S> void plain_floats(Warp& warp, const Instruction& instruction, Mask mask) {
    lane_wise<decltype([](S... s) { return canonical(F{}(s...)); }), T, S...>(warp, instruction, mask);
}

/// As the modifiers say: slower, and rare.
template <class F, class T, class... S> void modified_floats(Warp& warp, const Instruction& instruction, Mask mask) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const u16 how = instruction.modifiers;
        T* const d = warp.at<T>(instruction.operands[0]);
        const std::tuple<const S*...> s{warp.at<S>(instruction.operands[I + 1])...};
        for_lanes(mask, [&](unsigned lane) {
            volatile T result;
            {
                const RoundingScope rounding(how);
                result = F{}((how & flush ? flushed(std::get<I>(s)[lane]) : std::get<I>(s)[lane])...);
            }
            T r = result;
            if (how & saturate) r = saturated(r);
            if (how & flush) r = flushed(r);
            d[lane] = canonical(r);
        });
    }
    (std::index_sequence_for<S...>{});
}

/// d = f(a, …) in f32 or f64, with all modifiers.
template <class F> void decode_floats(Decoder& decoder, Type type, F, u16 modifiers = 0) {
    const auto pick = [&]<class T, class... S>() {
        bind(decoder, type, {(holds<S>(type) ? type : type)...});
        decoder.instruction->modifiers = modifiers;
        decoder.instruction->execute = modifiers ? &modified_floats<F, T, S...> : &plain_floats<F, T, S...>;
    };
    const auto by_arity = [&]<class T>() {
        if constexpr (std::is_invocable_v<F, T>) pick.template operator()<T, T>();
        else if constexpr (std::is_invocable_v<F, T, T>) pick.template operator()<T, T, T>();
        else pick.template operator()<T, T, T, T>();
    };
    if (type == Type::f32) by_arity.template operator()<float>();
    else if (type == Type::f64) by_arity.template operator()<double>();
}

} // namespace cuda_emulator
