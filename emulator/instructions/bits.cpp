#include "instructions/define.hpp"
#include <bit>

// PTX ISA 9.7.1.14 to 9.7.1.22 (bits of integers), 9.7.8 (logic and shifts).

namespace cuda_emulator {
namespace {

// A predicate register is one bit for each lane, so logic does all lanes at once.
template <class F> void predicates(Warp& warp, const Instruction& instruction, Mask mask) {
    Mask& d = warp.predicate(instruction.operands[0]);
    const Mask a = warp.predicate(instruction.operands[1]), b = warp.predicate(instruction.operands[2]);
    d = (d & ~mask) | (F{}(a, b) & mask);
}

template <class F> void decode_logic(Decoder& decoder, F f) {
    const Type type = decoder.take_type();
    if (type != Type::pred) return void(same_type<u16, u32, u64>(decoder, type, f));
    bind(decoder, type, {type, type});
    decoder.instruction->execute = &predicates<F>;
}

// shl, shr: more than the width shifts everything out.
template <class T>
constexpr auto shift_left = [](T a, u32 b) { return static_cast<T>(b < 8 * sizeof(T) ? a << b : 0); };
template <class T>
constexpr auto shift_right = [](T a, u32 b) {
    return static_cast<T>(b < 8 * sizeof(T) ? a >> b : a < 0 ? -1 : 0);
};

void decode_shift(Decoder& decoder, bool left) {
    const Type type = decoder.take_type();
    const auto pick = [&]<class... T>() {
        (void)((holds<T>(type) ? (left ? own_types<T, T, u32>(decoder, type, {type, Type::u32}, shift_left<T>)
                                       : own_types<T, T, u32>(decoder, type, {type, Type::u32}, shift_right<T>),
                                  true)
                               : false) ||
               ...);
    };
    pick.template operator()<u16, s16, u32, s32, u64, s64>();
}

// bfind: the place of the most significant 1, of a negative number the most significant 0; all ones if there is none.
template <class T> u32 highest(T a) {
    using U = std::make_unsigned_t<T>;
    const U bits = a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
    return bits ? 8 * sizeof(T) - 1 - static_cast<u32>(std::countl_zero(bits)) : ~0u;
}
template <class T> constexpr auto find = [](T a) { return highest(a); };
template <class T>
constexpr auto find_shift =
    [](T a) { return highest(a) == ~0u ? ~0u : static_cast<u32>(8 * sizeof(T) - 1) - highest(a); };

template <class T> T reversed(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) result = static_cast<T>(result << 1 | (a >> i & 1));
    return result;
}

// bfe: `length` bits from `position`, filled up with the highest of them if the type is signed.
template <class T>
constexpr auto extract = [](T a, u32 position, u32 length) -> T {
    constexpr unsigned width = 8 * sizeof(T);
    position &= 0xff;
    length &= 0xff;
    using U = std::make_unsigned_t<T>;
    const unsigned last = length ? std::min(position + length - 1, width - 1) : 0;
    const bool sign = std::is_signed_v<T> && length && (static_cast<U>(a) >> last & 1);
    U result = position < width ? static_cast<U>(static_cast<U>(a) >> position) : 0;
    if (length < width) {
        const unsigned have = position < width ? std::min(length, width - position) : 0;
        const U keep = have < width ? static_cast<U>((U{1} << have) - 1) : ~U{0};
        result = (result & keep) | (sign ? static_cast<U>(~keep) : 0);
    } else if (sign && position) result |= position < width ? static_cast<U>(~(~U{0} >> position)) : ~U{0};
    return static_cast<T>(result);
};

// bfi: `length` bits of a into b at `position`.
template <class T>
constexpr auto insert = [](T a, T b, u32 position, u32 length) -> T {
    constexpr unsigned width = 8 * sizeof(T);
    position &= 0xff;
    length &= 0xff;
    if (position >= width || !length) return b;
    const T ones = length < width ? static_cast<T>((T{1} << length) - 1) : static_cast<T>(~T{0});
    const T keep = static_cast<T>(ones << position);
    return static_cast<T>((b & ~keep) | (a << position & keep));
};

// prmt: each half byte of c picks a byte of b:a; its highest bit asks for the sign of that byte, eight times.
u32 pick_byte(u32 a, u32 b, u32 selector) {
    const u32 byte = static_cast<u32>((u64{b} << 32 | a) >> 8 * (selector & 7)) & 0xff;
    return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}
u32 permuted(u32 a, u32 b, u32 c) {
    return pick_byte(a, b, c) | pick_byte(a, b, c >> 4) << 8 | pick_byte(a, b, c >> 8) << 16 |
           pick_byte(a, b, c >> 12) << 24;
}
u32 selectors(int mode, u32 c) { // the modes of prmt, as the selectors that they stand for
    c &= 3;
    switch (mode) {
    case 0: return 0x3210 + 0x1111 * c;                                   // f4e
    case 1: return std::array<u32, 4>{0x5670, 0x6701, 0x7012, 0x0123}[c]; // b4e
    case 2: return 0x1111 * c;                                            // rc8
    case 3: return std::array<u32, 4>{0x3210, 0x3211, 0x3222, 0x3333}[c]; // ecl
    case 4: return std::array<u32, 4>{0x0000, 0x1110, 0x2210, 0x3210}[c]; // ecr
    default: return c & 1 ? 0x3232 : 0x1010;                              // rc16
    }
}
template <int mode>
constexpr auto permute = [](u32 a, u32 b, u32 c) { return permuted(a, b, mode < 0 ? c : selectors(mode, c)); };

// lop3: bit i of the result is the bit of the table that a, b and c number.
void lop3(Warp& warp, const Instruction& instruction, Mask mask) {
    u32* const d = warp.at<u32>(instruction.operands[0]);
    const u32 *const a = warp.at<u32>(instruction.operands[1]), *const b = warp.at<u32>(instruction.operands[2]),
                     *const c = warp.at<u32>(instruction.operands[3]);
    u32 term[8];
    for (unsigned i = 0; i < 8; ++i) term[i] = instruction.immediate >> i & 1 ? ~0u : 0;
    for_lanes(mask, [=](unsigned lane) {
        const u32 x = a[lane], y = b[lane], z = c[lane];
        d[lane] = (~x & ~y & ~z & term[0]) | (~x & ~y & z & term[1]) | (~x & y & ~z & term[2]) |
                  (~x & y & z & term[3]) | (x & ~y & ~z & term[4]) | (x & ~y & z & term[5]) | (x & y & ~z & term[6]) |
                  (x & y & z & term[7]);
    });
}

template <bool left, bool wrap>
constexpr auto funnel = [](u32 a, u32 b, u32 c) {
    const u32 n = wrap ? c & 31 : std::min(c, 32u);
    const u64 both = u64{b} << 32 | a;
    return static_cast<u32>(left ? both << n >> 32 : both >> n);
};

// fns: from `base`, the |offset|-th set bit upwards or downwards; all ones if there is none.
u32 find_nth(u32 bits, u32 base, s32 offset) {
    base &= 31;
    if (offset == 0) return bits >> base & 1 ? base : ~0u;
    const int step = offset > 0 ? 1 : -1;
    for (int at = static_cast<int>(base), left = std::abs(offset); at >= 0 && at < 32; at += step)
        if (bits >> at & 1 && --left == 0) return static_cast<u32>(at);
    return ~0u;
}

} // namespace

void define_bits(InstructionSet& set) {
    set.define("and", "9.7.8.1", [](Decoder& decoder) { decode_logic(decoder, [](auto a, auto b) { return a & b; }); });
    set.define("or", "9.7.8.2", [](Decoder& decoder) { decode_logic(decoder, [](auto a, auto b) { return a | b; }); });
    set.define("xor", "9.7.8.3", [](Decoder& decoder) { decode_logic(decoder, [](auto a, auto b) { return a ^ b; }); });
    set.define("not", "9.7.8.4", [](Decoder& decoder) {
        const Type type = decoder.take_type();
        const auto f = [](auto a) { return ~a; };
        if (type != Type::pred) return void(same_type<u16, u32, u64>(decoder, type, f));
        bind(decoder, type, {type});
        decoder.in(1, type);
        decoder.instruction->execute = &predicates<decltype([](Mask a, Mask) { return ~a; })>;
    });
    set.define("cnot", "9.7.8.5", [](Decoder& decoder) {
        same_type<u16, u32, u64>(decoder, decoder.take_type(), [](auto a) { return a == 0; });
    });
    set.define("lop3", "9.7.8.6", [](Decoder& decoder) {
        const Type type = decoder.take_type();
        decoder.out(0, type);
        for (std::size_t i = 1; i < 4; ++i) decoder.in(i, type);
        const auto table = decoder.number(decoder.at(4));
        if (!table) decoder.unsupported("a table that is no number");
        decoder.instruction->immediate = *table;
        decoder.instruction->execute = &lop3;
    });
    set.define("shf", "9.7.8.7", [](Decoder& decoder) {
        const bool left = decoder.take_one({"l", "r"}) == 0, wrap = decoder.take_one({"wrap", "clamp"}) == 0;
        const Type type = decoder.take_type();
        if (left && wrap) same_type<u32>(decoder, type, funnel<true, true>);
        else if (left) same_type<u32>(decoder, type, funnel<true, false>);
        else if (wrap) same_type<u32>(decoder, type, funnel<false, true>);
        else same_type<u32>(decoder, type, funnel<false, false>);
    });
    set.define("shl", "9.7.8.8", [](Decoder& decoder) { decode_shift(decoder, true); });
    set.define("shr", "9.7.8.9", [](Decoder& decoder) { decode_shift(decoder, false); });
    set.define("popc", "9.7.1.14", [](Decoder& decoder) {
        const Type type = decoder.take_type();
        if (size_of(type) == 8) own_types<u32, u64>(decoder, Type::u32, {type}, [](u64 a) { return std::popcount(a); });
        else own_types<u32, u32>(decoder, Type::u32, {type}, [](u32 a) { return std::popcount(a); });
    });
    set.define("clz", "9.7.1.15", [](Decoder& decoder) {
        const Type type = decoder.take_type();
        if (size_of(type) == 8)
            own_types<u32, u64>(decoder, Type::u32, {type}, [](u64 a) { return std::countl_zero(a); });
        else own_types<u32, u32>(decoder, Type::u32, {type}, [](u32 a) { return std::countl_zero(a); });
    });
    set.define("bfind", "9.7.1.16", [](Decoder& decoder) {
        const bool shift = decoder.take("shiftamt");
        const Type type = decoder.take_type();
        const auto pick = [&]<class... T>() {
            (void)((holds<T>(type) ? (shift ? own_types<u32, T>(decoder, Type::u32, {type}, find_shift<T>)
                                            : own_types<u32, T>(decoder, Type::u32, {type}, find<T>),
                                      true)
                                   : false) ||
                   ...);
        };
        pick.template operator()<u32, s32, u64, s64>();
    });
    set.define("fns", "9.7.1.17", [](Decoder& decoder) {
        own_types<u32, u32, u32, s32>(decoder, decoder.take_type(), {Type::b32, Type::b32, Type::s32},
                                      [](u32 a, u32 b, s32 c) { return find_nth(a, b, c); });
    });
    set.define("brev", "9.7.1.18", [](Decoder& decoder) {
        same_type<u32, u64>(decoder, decoder.take_type(), [](auto a) { return reversed(a); });
    });
    set.define("bfe", "9.7.1.19", [](Decoder& decoder) {
        const Type type = decoder.take_type();
        const auto pick = [&]<class... T>() {
            (void)((holds<T>(type)
                        ? (own_types<T, T, u32, u32>(decoder, type, {type, Type::u32, Type::u32}, extract<T>), true)
                        : false) ||
                   ...);
        };
        pick.template operator()<u32, s32, u64, s64>();
    });
    set.define("bfi", "9.7.1.20", [](Decoder& decoder) {
        const Type type = decoder.take_type();
        if (size_of(type) == 8)
            own_types<u64, u64, u64, u32, u32>(decoder, type, {type, type, Type::u32, Type::u32}, insert<u64>);
        else own_types<u32, u32, u32, u32, u32>(decoder, type, {type, type, Type::u32, Type::u32}, insert<u32>);
    });
    set.define("bmsk", "9.7.1.22", [](Decoder& decoder) { // `length` ones from `position`
        const bool wrap = decoder.take_one({"clamp", "wrap"}) == 1;
        const Type type = decoder.take_type();
        if (wrap)
            own_types<u32, u32, u32>(decoder, type, {Type::u32, Type::u32}, [](u32 a, u32 b) {
                return static_cast<u32>(((u64{1} << (b & 31)) - 1) << (a & 31));
            });
        else
            own_types<u32, u32, u32>(decoder, type, {Type::u32, Type::u32}, [](u32 a, u32 b) {
                return a >= 32 ? 0 : static_cast<u32>(((u64{1} << std::min(b, 32u)) - 1) << a);
            });
    });
    set.define("prmt", "9.7.9.7", [](Decoder& decoder) {
        decoder.take_type();
        switch (decoder.take_one({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})) {
        case 0: same_type<u32>(decoder, Type::b32, permute<0>); break;
        case 1: same_type<u32>(decoder, Type::b32, permute<1>); break;
        case 2: same_type<u32>(decoder, Type::b32, permute<2>); break;
        case 3: same_type<u32>(decoder, Type::b32, permute<3>); break;
        case 4: same_type<u32>(decoder, Type::b32, permute<4>); break;
        case 5: same_type<u32>(decoder, Type::b32, permute<5>); break;
        default: same_type<u32>(decoder, Type::b32, permute<-1>);
        }
    });
}

} // namespace cuda_emulator
