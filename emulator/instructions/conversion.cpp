#include "instructions/floating.hpp"
#include "instructions/half.hpp"
#include <algorithm>

// PTX ISA 9.7.9.21 cvt, 9.7.9.20 cvta, 9.7.9.19 isspacep.

namespace cuda_emulator {
namespace {

constexpr u16 integer_rounding = 16, away = 32, relu = 64; // beside FloatModifiers: .rni and its like; .rna; .relu

template <class T> constexpr bool is_narrow = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;
template <class T> constexpr bool is_float = std::is_floating_point_v<T> || is_narrow<T>;

// A floating-point number rounded to a whole number.
template <class T> T whole(T x, u16 how) {
    switch (how & 3) {
    case to_zero: return std::trunc(x);
    case downwards: return std::floor(x);
    case upwards: return std::ceil(x);
    default: return std::nearbyint(x);
    }
}

// To an integer: what does not fit becomes the least or greatest value; NaN 0, but in 64 bits 2^63.
template <class D, class F> D to_integer(F x, u16 how) {
    if (x != x)
        return sizeof(D) == 8                     ? static_cast<D>(u64{1} << 63)
               : sizeof(F) == 8 && sizeof(D) == 4 ? static_cast<D>(1u << 31)
                                                  : D{0};
    x = whole(x, how);
    constexpr D least = std::numeric_limits<D>::min(), most = std::numeric_limits<D>::max();
    if (x <= static_cast<F>(least)) return least;
    if (x >= static_cast<F>(most)) return most;
    return static_cast<D>(x);
}

template <class D, class S> D convert(S source, u16 how) {
    if constexpr (is_narrow<S>) {
        if constexpr (is_narrow<D> && std::is_same_v<D, S>) {
            if (!(how & (integer_rounding | relu | u16{saturate}))) return source;
        }
        if constexpr (std::is_same_v<D, float>)
            if (source.is_nan() && !(how & saturate)) return canonical(NAN);
        return convert<D>(source.value(), how);
    } else if constexpr (is_narrow<D>) {
        double x = static_cast<double>(source);
        if (how & integer_rounding) x = whole(x, how);
        if (how & saturate) x = saturated(x);
        D result = [&] {
            if constexpr (std::is_integral_v<S> && sizeof(S) == 8)
                return D::of(add_to_odd(static_cast<double>(source >> 32) * 0x1p32,
                                        static_cast<double>(static_cast<u32>(source))),
                             how & 3);
            else return D::of(x, how & away ? 4 : how & 3);
        }();
        if (how & relu && (result.bits & 0x8000) && !result.is_nan()) result.bits = 0;
        return result;
    } else if constexpr (std::is_floating_point_v<D> && std::is_floating_point_v<S>) {
        if constexpr (std::is_same_v<S, float>)
            if (how & flush) source = flushed(source);
        if (how & integer_rounding) source = whole(source, how);
        volatile D result;
        if (sizeof(D) < sizeof(S)) {
            const RoundingScope rounding(how);
            result = static_cast<D>(source);
        } else result = static_cast<D>(source);
        D r = result;
        if (how & saturate) r = saturated(r);
        if constexpr (std::is_same_v<D, float>)
            if (how & flush) r = flushed(r);
        return std::is_same_v<D, S> && how ? canonical(r) : r;
    } else if constexpr (std::is_floating_point_v<D>) {
        const RoundingScope rounding(how);
        volatile D result = static_cast<D>(source);
        const D r = result;
        return how & saturate ? saturated(r) : r;
    } else if constexpr (std::is_floating_point_v<S>) {
        if constexpr (std::is_same_v<S, float>)
            if (how & flush) source = flushed(source);
        return to_integer<D>(source, how);
    } else {
        if (how & saturate) { // clamped to the range of the result
            using Limits = std::numeric_limits<D>;
            if (std::cmp_less(source, Limits::min())) return Limits::min();
            if (std::cmp_greater(source, Limits::max())) return Limits::max();
        }
        return static_cast<D>(source);
    }
}

// Registers RD and RS may be wider than the types D and S: a source counts by its lower bits, a result is extended.
template <class D, class S, class RD, class RS> void cvt(Warp& warp, const Instruction& instruction, Mask mask) {
    const u16 how = instruction.modifiers;
    RD* const d = warp.at<RD>(instruction.operands[0]);
    const RS* const s = warp.at<RS>(instruction.operands[1]);
    const auto one = [=](RS from, u16 with) {
        if constexpr (std::is_same_v<RS, S>) return convert<D>(from, with);
        else return convert<D>(static_cast<S>(from), with);
    };
    if constexpr (std::is_floating_point_v<D> && std::is_arithmetic_v<S> && std::is_same_v<RD, D> &&
                  std::is_same_v<RS, S> && !std::is_same_v<D, S>)
        if (!how) return for_lanes(mask, [=](unsigned lane) { d[lane] = static_cast<D>(s[lane]); }); // to nearest
    if constexpr (std::is_integral_v<D> && std::is_integral_v<S>)
        if (!how)
            return for_lanes(
                mask, [=](unsigned lane) { d[lane] = static_cast<RD>(static_cast<D>(static_cast<S>(s[lane]))); });
    for_lanes(mask, [=](unsigned lane) { d[lane] = RD(one(s[lane], how)); });
}

template <class D, class S> Handler cvt_of_registers(Type to, Type from) {
    if constexpr (is_float<D> && is_float<S>) return &cvt<D, S, D, S>;
    else if constexpr (is_float<D>) {
        if (size_of(from) == sizeof(S)) return &cvt<D, S, D, S>;
        return size_of(from) == 2 ? &cvt<D, S, D, u16> : size_of(from) == 4 ? &cvt<D, S, D, u32> : &cvt<D, S, D, u64>;
    } else if constexpr (is_float<S>) {
        if (size_of(to) == sizeof(D)) return &cvt<D, S, D, S>;
        return size_of(to) == 2 ? &cvt<D, S, s16, S> : size_of(to) == 4 ? &cvt<D, S, s32, S> : &cvt<D, S, s64, S>;
    } else {
        const auto with = [&]<class RD>() -> Handler {
            return size_of(from) == 2   ? &cvt<D, S, RD, u16>
                   : size_of(from) == 4 ? &cvt<D, S, RD, u32>
                                        : &cvt<D, S, RD, u64>;
        };
        return size_of(to) == 2   ? with.template operator()<s16>()
               : size_of(to) == 4 ? with.template operator()<s32>()
                                  : with.template operator()<s64>();
    }
}

// Calls f<T>() with the type that holds values of a PTX type.
template <class F> Handler by_cpp_type(Type type, F f) {
    switch (type) {
    case Type::u8:
    case Type::b8: return f.template operator()<u8>();
    case Type::s8: return f.template operator()<s8>();
    case Type::u16:
    case Type::b16: return f.template operator()<u16>();
    case Type::s16: return f.template operator()<s16>();
    case Type::u32:
    case Type::b32: return f.template operator()<u32>();
    case Type::s32: return f.template operator()<s32>();
    case Type::u64:
    case Type::b64: return f.template operator()<u64>();
    case Type::s64: return f.template operator()<s64>();
    case Type::f16: return f.template operator()<Half>();
    case Type::bf16: return f.template operator()<Bfloat>();
    case Type::f32: return f.template operator()<float>();
    case Type::f64: return f.template operator()<double>();
    default: return nullptr;
    }
}

// Two floats to two narrow numbers: the first operand goes to the upper half.
template <class N> void cvt_pair(Warp& warp, const Instruction& instruction, Mask mask) {
    const u16 how = instruction.modifiers;
    const float *const a = warp.at<float>(instruction.operands[1]), *const b = warp.at<float>(instruction.operands[2]);
    u32* const d = warp.at<u32>(instruction.operands[0]);
    for_lanes(mask, [=](unsigned lane) {
        d[lane] = u32{convert<N>(a[lane], how).bits} << 16 | convert<N>(b[lane], how).bits;
    });
}

void decode_cvt(Decoder& decoder) {
    u16 how = 0;
    if (const int r = decoder.take_one({"rni", "rzi", "rmi", "rpi"}); r >= 0)
        how = static_cast<u16>(integer_rounding | r);
    else if (decoder.take("rna")) how = away;
    how |= take_float_modifiers(decoder);
    if (decoder.take("relu")) how |= relu;
    decoder.take("satfinite");
    const Type to = decoder.take_type(), from = decoder.take_type();
    decoder.instruction->modifiers = how;
    if (to == Type::tf32) {
        bind(decoder, Type::b32, {Type::f32});
        decoder.instruction->execute = how & away ? &lane_wise<decltype([](u32 a) { return to_tf32(a, 4); }), u32, u32>
                                       : how & 3  ? &lane_wise<decltype([](u32 a) { return to_tf32(a, 1); }), u32, u32>
                                                  : &lane_wise<decltype([](u32 a) { return to_tf32(a, 0); }), u32, u32>;
        return;
    }
    if (to == Type::f16x2 || to == Type::bf16x2) {
        bind(decoder, to, {from, from});
        if (from != Type::f32) decoder.unsupported();
        decoder.instruction->execute = to == Type::f16x2 ? &cvt_pair<Half> : &cvt_pair<Bfloat>;
        return;
    }
    if (decoder.arguments.size() != 2) decoder.unsupported();
    const Type to_register = decoder.bind_wide(decoder.at(0), to, true),
               from_register = decoder.bind_wide(decoder.at(1), from, false);
    decoder.instruction->execute = by_cpp_type(to, [&]<class D>() {
        return by_cpp_type(from, [&]<class S>() { return cvt_of_registers<D, S>(to_register, from_register); });
    });
}

// An address in shared or local memory and the generic address differ by the beginning of the window.
template <int direction> void move_window(Warp& warp, const Instruction& instruction, Mask mask) {
    const u64 window = static_cast<Space>(instruction.modifiers) == Space::shared ? warp.memory().shared_window()
                       : static_cast<Space>(instruction.modifiers) == Space::local
                           ? warp.memory().local_window()
                           : reinterpret_cast<u64>(warp.owner().grid.arguments);
    u64* const d = warp.at<u64>(instruction.operands[0]);
    const u64* const a = warp.at<u64>(instruction.operands[1]);
    for_lanes(mask, [=](unsigned lane) { d[lane] = direction > 0 ? a[lane] + window : a[lane] - window; });
}

} // namespace

void define_conversion(InstructionSet& set) {
    set.define("cvt", "9.7.9.21", decode_cvt);
    set.define("cvta", "9.7.9.20", [](Decoder& decoder) {
        const bool to = decoder.take("to");
        decoder.take("cta") || decoder.take("cluster");
        const int space = decoder.take_one(
            {"global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry"});
        const Type type = decoder.take_type();
        if (size_of(type) != 8 || space < 0) decoder.unsupported();
        const Argument& source = decoder.at(1);
        if (space < 2)
            return own_types<u64, u64>(decoder, type, {type},
                                       [](u64 a) { return a; }); // one space with the generic one
        decoder.out(0, type);
        decoder.bind(source, type);
        decoder.instruction->modifiers = static_cast<u16>(space < 5    ? Space::shared
                                                          : space == 5 ? Space::local
                                                                       : Space::parameter);
        decoder.instruction->execute = to ? &move_window<-1> : &move_window<1>;
    });
    set.define("isspacep", "9.7.9.19", [](Decoder& decoder) {
        const int space =
            decoder.take_one({"shared", "shared::cta", "shared::cluster", "local", "global", "const", "param"});
        if (space < 0) decoder.unsupported();
        decoder.out(0, Type::pred);
        decoder.in(1, Type::u64);
        decoder.instruction->modifiers = static_cast<u16>(space);
        decoder.instruction->execute = [](Warp& warp, const Instruction& instruction, Mask mask) {
            const Memory& memory = warp.memory();
            Mask& p = warp.predicate(instruction.operands[0]);
            for_lanes(mask, [&](unsigned lane) {
                const u64 address = warp.at<u64>(instruction.operands[1])[lane];
                const bool shared = memory.is_shared(address), local = memory.is_local(address);
                const MemoryKind kind = shared || local ? MemoryKind::device : memory.find(address).kind;
                bool is = false;
                switch (instruction.modifiers) {
                case 0:
                case 1: is = shared && (address - memory.shared_window()) >> 24 == 0; break;
                case 2: is = shared; break;
                case 3: is = local; break;
                case 4: is = !shared && !local && kind != MemoryKind::constant; break;
                case 5: is = kind == MemoryKind::constant; break;
                default: break;
                }
                p = (p & ~(Mask{1} << lane)) | Mask{is} << lane;
            });
        };
    });
}

} // namespace cuda_emulator
