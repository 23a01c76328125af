#include "instructions/floating.hpp"
#include "instructions/half.hpp"

// PTX ISA 9.7.6 Comparison and selection.

namespace cuda_emulator {
namespace {

// What lanes compare: numbers as they are, 16-bit floating-point numbers by their value.
template <class T> T value_of(T x) { return x; }
double value_of(Half x) { return x.value(); }
double value_of(Bfloat x) { return x.value(); }
struct FlushedFloat {
    float x;
};
float value_of(FlushedFloat x) { return flushed(x.x); }

// The comparisons, numbered as decode_comparison lists them. A comparison with NaN is false; its unordered twin (…u) is
// then true.
template <int which, class T> bool compares(T a, T b) {
    const bool ordered = a == a && b == b;
    switch (which) {
    case 0: return a == b;
    case 1: return ordered && a != b;
    case 2:
    case 6: return a < b;
    case 3:
    case 7: return a <= b;
    case 4:
    case 8: return a > b;
    case 5:
    case 9: return a >= b;
    case 10: return !ordered || a == b;
    case 11: return a != b;
    case 12: return !(a >= b);
    case 13: return !(a > b);
    case 14: return !(a <= b);
    case 15: return !(a < b);
    case 16: return ordered;
    default: return !ordered;
    }
}

// All lanes at once: nothing can go wrong in those that do not take part.
template <int which, class T> Mask compare(Warp& warp, const Instruction& instruction) {
    const T *const a = warp.at<T>(instruction.operands[2]), *const b = warp.at<T>(instruction.operands[3]);
    Mask result = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
        result |= Mask{compares<which>(value_of(a[lane]), value_of(b[lane]))} << lane;
    return result;
}

enum Combination : u16 { no_combination, with_and, with_or, with_xor, inverted_c = 4 };
Mask combined(Warp& warp, const Instruction& instruction, Mask compared) {
    if (!instruction.modifiers) return compared;
    Mask c = warp.predicate(instruction.operands[4]);
    if (instruction.modifiers & inverted_c) c = ~c;
    switch (instruction.modifiers & 3) {
    case with_and: return compared & c;
    case with_or: return compared | c;
    default: return compared ^ c;
    }
}

// p = (a cmp b) op c, q = !(a cmp b) op c
template <int which, class T> void setp(Warp& warp, const Instruction& instruction, Mask mask) {
    const Mask compared = compare<which, T>(warp, instruction);
    const Mask p = combined(warp, instruction, compared);
    Mask& to = warp.predicate(instruction.operands[0]);
    if (instruction.operands[1].exists()) {
        Mask& q = warp.predicate(instruction.operands[1]);
        q = (q & ~mask) | (combined(warp, instruction, ~compared) & mask);
    }
    to = (to & ~mask) | (p & mask);
}

// d = all ones (1.0 in f32) or 0
template <int which, class T> void set(Warp& warp, const Instruction& instruction, Mask mask) {
    const Mask result = combined(warp, instruction, compare<which, T>(warp, instruction));
    const u32 yes = static_cast<u32>(instruction.immediate);
    u32* const d = warp.at<u32>(instruction.operands[0]);
    for_lanes(mask, [&](unsigned lane) { d[lane] = result >> lane & 1 ? yes : 0; });
}

template <class T, int... which> Handler pick(int comparison, bool to_predicate, std::integer_sequence<int, which...>) {
    constexpr Handler predicates[] = {&setp<which, T>...}, numbers[] = {&set<which, T>...};
    return to_predicate ? predicates[comparison] : numbers[comparison];
}

void decode_comparison(Decoder& decoder, bool to_predicate) {
    const int comparison = decoder.take_one({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu",
                                             "ltu", "leu", "gtu", "geu", "num", "nan"});
    if (comparison < 0) decoder.unsupported();
    const int combination = decoder.take_one({"and", "or", "xor"}) + 1;
    const bool ftz = decoder.take("ftz");
    const Type result = to_predicate ? Type::pred : decoder.take_type(), type = decoder.take_type();
    if (size_of(result) != 4) decoder.unsupported();
    decoder.out(0, result);
    if (decoder.at(0).second.empty()) decoder.add({});
    else decoder.out_second(decoder.at(0));
    decoder.in(1, type);
    decoder.in(2, type);
    if (combination) decoder.in(3, Type::pred);
    decoder.instruction->modifiers =
        static_cast<u16>(combination | (combination && decoder.at(3).inverted ? inverted_c : 0));
    decoder.instruction->immediate = result == Type::f32 ? 0x3f800000 : 0xffffffff;
    const auto use = [&]<class T>() {
        decoder.instruction->execute = pick<T>(comparison, to_predicate, std::make_integer_sequence<int, 18>{});
    };
    switch (type) {
    case Type::u16:
    case Type::b16: return use.template operator()<u16>();
    case Type::s16: return use.template operator()<s16>();
    case Type::u32:
    case Type::b32: return use.template operator()<u32>();
    case Type::s32: return use.template operator()<s32>();
    case Type::u64:
    case Type::b64: return use.template operator()<u64>();
    case Type::s64: return use.template operator()<s64>();
    case Type::f32: return ftz ? use.template operator()<FlushedFloat>() : use.template operator()<float>();
    case Type::f64: return use.template operator()<double>();
    case Type::f16: return use.template operator()<Half>();
    case Type::bf16: return use.template operator()<Bfloat>();
    default: decoder.unsupported();
    }
}

// d = p ? a : b
template <class T> void selp(Warp& warp, const Instruction& instruction, Mask mask) {
    const Mask p = warp.predicate(instruction.operands[3]) ^ (instruction.modifiers ? all_lanes : 0);
    T* const d = warp.at<T>(instruction.operands[0]);
    const T *const a = warp.at<T>(instruction.operands[1]), *const b = warp.at<T>(instruction.operands[2]);
    for_lanes(mask, [=](unsigned lane) { d[lane] = p >> lane & 1 ? a[lane] : b[lane]; });
}

// d = c >= 0 ? a : b
template <class T, class C> void slct(Warp& warp, const Instruction& instruction, Mask mask) {
    T* const d = warp.at<T>(instruction.operands[0]);
    const T *const a = warp.at<T>(instruction.operands[1]), *const b = warp.at<T>(instruction.operands[2]);
    const C* const c = warp.at<C>(instruction.operands[3]);
    for_lanes(mask, [=](unsigned lane) { d[lane] = c[lane] >= 0 ? a[lane] : b[lane]; });
}

} // namespace

void define_comparison(InstructionSet& set) {
    set.define("setp", "9.7.6.2", [](Decoder& decoder) { decode_comparison(decoder, true); });
    set.define("set", "9.7.6.1", [](Decoder& decoder) { decode_comparison(decoder, false); });
    set.define("selp", "9.7.6.3", [](Decoder& decoder) {
        const Type type = decoder.take_type();
        bind(decoder, type, {type, type, Type::pred});
        decoder.instruction->modifiers = decoder.at(3).inverted;
        decoder.instruction->execute = size_of(type) == 8 ? &selp<u64> : size_of(type) == 4 ? &selp<u32> : &selp<u16>;
    });
    set.define("slct", "9.7.6.4", [](Decoder& decoder) {
        const bool ftz = decoder.take("ftz");
        const Type type = decoder.take_type(), condition = decoder.take_type();
        if (ftz) decoder.unsupported(".ftz");
        bind(decoder, type, {type, type, condition});
        if (condition == Type::f32)
            decoder.instruction->execute = size_of(type) == 8   ? &slct<u64, float>
                                           : size_of(type) == 4 ? &slct<u32, float>
                                                                : &slct<u16, float>;
        else
            decoder.instruction->execute = size_of(type) == 8   ? &slct<u64, s32>
                                           : size_of(type) == 4 ? &slct<u32, s32>
                                                                : &slct<u16, s32>;
    });
}

} // namespace cuda_emulator
