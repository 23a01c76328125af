#include "instructions/half.hpp"
#include "instructions/floating.hpp"

// PTX ISA 9.7.4 Half-precision floating-point arithmetic: f16, f16x2, bf16, bf16x2.

namespace cuda_emulator {
namespace {

constexpr auto add = [](double a, double b) { return add_to_odd(a, b); };
constexpr auto sub = [](double a, double b) { return add_to_odd(a, -b); };
constexpr auto mul = [](double a, double b) { return a * b; }; // exact
constexpr auto fma = [](double a, double b, double c) { return add_to_odd(a * b, c); };

template <bool greatest>
constexpr auto extreme = [](double a, double b) {
    if (a != a || b != b) return a != a ? b : a;
    if (a == b) return std::signbit(a) == greatest ? b : a;
    return (a < b) == greatest ? b : a;
};
template <bool greatest>
constexpr auto extreme_or_nan = [](double a, double b) { return a != a || b != b ? a + b : extreme<greatest>(a, b); };

template <class N> N flushed_narrow(N x) { return (x.bits & N::infinity) ? x : N{static_cast<u16>(x.bits & 0x8000)}; }

// One number, with .ftz, .sat and .relu.
template <class F, class N, class... S> u16 one(u16 how, S... sources) {
    N r = N::of(F{}((how & flush ? flushed_narrow(N{sources}).value() : N{sources}.value())...));
    if (how & flush) r = flushed_narrow(r);
    if (how & saturate) r = N::of(saturated(r.value()));
    if (how & 16 && !r.is_nan() && (r.bits & 0x8000)) r.bits = 0; // .relu
    return r.bits;
}

template <class F, class N, class... S> void singles(Warp& warp, const Instruction& instruction, Mask mask) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        for_lanes(mask, [&](unsigned lane) {
            warp.at<u16>(instruction.operands[0])[lane] =
                one<F, N>(instruction.modifiers, warp.at<S>(instruction.operands[I + 1])[lane]...);
        });
    }
    (std::index_sequence_for<S...>{});
}

// Two numbers side by side in 32 bits.
template <class F, class N, class... S> void pairs(Warp& warp, const Instruction& instruction, Mask mask) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        const u16 how = instruction.modifiers;
        for_lanes(mask, [&](unsigned lane) {
            const std::array<u32, sizeof...(S)> s{warp.at<u32>(instruction.operands[I + 1])[lane]...};
            const u32 low = one<F, N>(how, static_cast<u16>(s[I])...),
                      high = one<F, N>(how, static_cast<u16>(s[I] >> 16)...);
            warp.at<u32>(instruction.operands[0])[lane] = low | high << 16;
        });
    }
    (std::index_sequence_for<S...>{});
}

template <class F, class... S> void decode(Decoder& decoder, Type type, F) {
    u16 how = take_float_modifiers(decoder);
    if (how & 3) decoder.unsupported("rounding");
    if (decoder.take("relu")) how |= 16;
    bind(decoder, type, {(static_cast<void>(S{}), type)...});
    decoder.instruction->modifiers = how;
    switch (type) {
    case Type::f16: decoder.instruction->execute = &singles<F, Half, S...>; break;
    case Type::f16x2: decoder.instruction->execute = &pairs<F, Half, S...>; break;
    case Type::bf16: decoder.instruction->execute = &singles<F, Bfloat, S...>; break;
    default: decoder.instruction->execute = &pairs<F, Bfloat, S...>;
    }
}

// The sign bits alone.
template <bool negate> void decode_sign(Decoder& decoder, Type type) {
    if (decoder.take("ftz")) decoder.unsupported(".ftz");
    const auto f = [](auto a) { return negate ? a ^ 0x80008000u : a & 0x7fff7fffu; };
    if (size_of(type) == 2) own_types<u16, u16>(decoder, type, {type}, f);
    else own_types<u32, u32>(decoder, type, {type}, f);
}

} // namespace

void half_add(Decoder& decoder, Type type) { decode<decltype(add), u16, u16>(decoder, type, add); }
void half_sub(Decoder& decoder, Type type) { decode<decltype(sub), u16, u16>(decoder, type, sub); }
void half_mul(Decoder& decoder, Type type) { decode<decltype(mul), u16, u16>(decoder, type, mul); }
void half_fma(Decoder& decoder, Type type) { decode<decltype(fma), u16, u16, u16>(decoder, type, fma); }
void half_abs(Decoder& decoder, Type type) { decode_sign<false>(decoder, type); }
void half_neg(Decoder& decoder, Type type) { decode_sign<true>(decoder, type); }

void half_min_max(Decoder& decoder, Type type, bool greatest) {
    const bool nan = decoder.take("NaN");
    const auto pick = [&](auto f) { decode<decltype(f), u16, u16>(decoder, type, f); };
    if (nan) greatest ? pick(extreme_or_nan<true>) : pick(extreme_or_nan<false>);
    else greatest ? pick(extreme<true>) : pick(extreme<false>);
}

} // namespace cuda_emulator
