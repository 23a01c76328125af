#include "instructions/define.hpp"
#include <algorithm>

// Instructions by which the lanes of a warp exchange values: PTX ISA 9.7.9.6 shfl.sync, 9.7.13.8 vote.sync, 9.7.13.9
// match.sync, 9.7.13.10 activemask, 9.7.13.11 redux.sync, 9.7.13.14 elect.sync. The last operand names the lanes that
// take part; it may differ from lane to lane (tiles of a warp).

namespace cuda_emulator {
namespace {

enum ShuffleMode : u16 { up, down, butterfly, indexed };

// Which lane a lane reads, and whether that is in its segment of the warp.
template <ShuffleMode mode> bool source_of(unsigned lane, u32 b, u32 c, unsigned& source) {
    const u32 shift = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    const u32 first = lane & segment, last = first | (clamp & ~segment);
    const s32 from = static_cast<s32>(mode == up          ? lane - shift
                                      : mode == down      ? lane + shift
                                      : mode == butterfly ? lane ^ shift
                                                          : first | (shift & ~segment));
    const bool in_range = mode == up ? from >= static_cast<s32>(last) : from <= static_cast<s32>(last);
    source = in_range ? static_cast<unsigned>(from) : lane;
    return in_range;
}

// operands: d, p, a, b, c, members
template <ShuffleMode mode> void shfl(Warp& warp, const Instruction& instruction, Mask mask) {
    const Operand* const operand = instruction.operands;
    const u32* const members = warp.at<u32>(operand[5]);
    if (!warp.meet(instruction, mask, members)) return;
    const u32 *const a = warp.at<u32>(operand[2]), *const b = warp.at<u32>(operand[3]),
                     *const c = warp.at<u32>(operand[4]);
    u32 result[32];
    unsigned source[32];
    Mask valid = 0, everybody = mask;
    for (unsigned lane = 0; lane < 32; ++lane) {
        valid |= Mask{source_of<mode>(lane, b[lane], c[lane], source[lane])} << lane;
        everybody &= members[lane];
    }
    for_lanes(mask, [&](unsigned lane) { result[lane] = a[source[lane]]; });
    if (everybody != all_lanes)
        for_lanes(mask, [&](unsigned lane) {
            if (mask & members[lane] & 1u << source[lane]) return;
            result[lane] = ~0u; // undefined: a value that shows
            if (warp.observer()) warp.observer()->bad_shuffle(warp, lane, source[lane], instruction);
        });
    u32* const d = warp.at<u32>(operand[0]);
    for_lanes(mask, [&](unsigned lane) { d[lane] = result[lane]; });
    if (!operand[1].exists()) return;
    Mask& p = warp.predicate(operand[1]);
    p = (p & ~mask) | (valid & mask);
}

enum Vote : u16 { all, any, uniform, ballot, inverted_vote = 4 };

// operands: d, a, members
void vote(Warp& warp, const Instruction& instruction, Mask mask) {
    const u32* const members = warp.at<u32>(instruction.operands[2]);
    if (!warp.meet(instruction, mask, members)) return;
    Mask a = warp.predicate(instruction.operands[1]);
    if (instruction.modifiers & inverted_vote) a = ~a;
    Mask yes = 0;
    for_lanes(mask, [&](unsigned lane) {
        const Mask who = members[lane] & mask, votes = a & who;
        const u16 kind = instruction.modifiers & 3;
        if (kind == ballot) warp.at<u32>(instruction.operands[0])[lane] = votes;
        else yes |= Mask{kind == all ? votes == who : kind == any ? votes != 0 : votes == who || !votes} << lane;
    });
    if ((instruction.modifiers & 3) == ballot) return;
    Mask& d = warp.predicate(instruction.operands[0]);
    d = (d & ~mask) | yes;
}

// operands: d, p, a, members
template <class T, bool all_equal> void match(Warp& warp, const Instruction& instruction, Mask mask) {
    const u32* const members = warp.at<u32>(instruction.operands[3]);
    if (!warp.meet(instruction, mask, members)) return;
    const T* const a = warp.at<T>(instruction.operands[2]);
    u32 result[32];
    Mask yes = 0;
    for_lanes(mask, [&](unsigned lane) {
        const Mask who = members[lane] & mask;
        Mask same = 0;
        for_lanes(who, [&](unsigned other) { same |= Mask{a[other] == a[lane]} << other; });
        result[lane] = all_equal && same != who ? 0 : same;
        yes |= Mask{same == who} << lane;
    });
    for_lanes(mask, [&](unsigned lane) { warp.at<u32>(instruction.operands[0])[lane] = result[lane]; });
    if (!all_equal) return;
    Mask& p = warp.predicate(instruction.operands[1]);
    p = (p & ~mask) | yes;
}

// operands: d, a, members
template <class F, class T> void redux(Warp& warp, const Instruction& instruction, Mask mask) {
    const u32* const members = warp.at<u32>(instruction.operands[2]);
    if (!warp.meet(instruction, mask, members)) return;
    const T* const a = warp.at<T>(instruction.operands[1]);
    T result[32];
    for_lanes(mask, [&](unsigned lane) {
        Mask who = members[lane] & mask;
        T r = a[std::countr_zero(who)];
        for (who &= who - 1; who; who &= who - 1) r = F{}(r, a[std::countr_zero(who)]);
        result[lane] = r;
    });
    T* const d = warp.at<T>(instruction.operands[0]);
    for_lanes(mask, [&](unsigned lane) { d[lane] = result[lane]; });
}

template <class... T, class F> void pick(Decoder& decoder, Type type, F) {
    (void)((holds<T>(type) ? (decoder.instruction->execute = &redux<F, T>, true) : false) || ...);
}

} // namespace

void define_warp(InstructionSet& set) {
    set.define("shfl", "9.7.9.6", [](Decoder& decoder) {
        decoder.take("sync");
        const int mode = decoder.take_one({"up", "down", "bfly", "idx"});
        const Type type = decoder.take_type();
        decoder.out(0, type);
        if (decoder.at(0).second.empty()) decoder.add({});
        else decoder.out_second(decoder.at(0));
        for (std::size_t i = 1; i < 5; ++i) decoder.in(i, Type::b32);
        constexpr Handler modes[] = {&shfl<up>, &shfl<down>, &shfl<butterfly>, &shfl<indexed>};
        if (mode < 0) decoder.unsupported();
        decoder.instruction->execute = modes[mode];
    });
    set.define("vote", "9.7.13.8", [](Decoder& decoder) {
        decoder.take("sync");
        const int kind = decoder.take_one({"all", "any", "uni", "ballot"});
        decoder.out(0, decoder.take_type());
        decoder.in(1, Type::pred);
        decoder.in(2, Type::b32);
        decoder.instruction->modifiers = static_cast<u16>(kind | (decoder.at(1).inverted ? inverted_vote : 0));
        decoder.instruction->execute = &vote;
    });
    set.define("match", "9.7.13.9", [](Decoder& decoder) {
        decoder.take("sync");
        const bool every = decoder.take_one({"any", "all"}) == 1;
        const Type type = decoder.take_type();
        decoder.out(0, Type::b32);
        decoder.out_second(decoder.at(0));
        decoder.in(1, type);
        decoder.in(2, Type::b32);
        if (size_of(type) == 8) decoder.instruction->execute = every ? &match<u64, true> : &match<u64, false>;
        else decoder.instruction->execute = every ? &match<u32, true> : &match<u32, false>;
    });
    set.define("redux", "9.7.13.11", [](Decoder& decoder) {
        decoder.take("sync");
        const int op = decoder.take_one({"add", "min", "max", "and", "or", "xor"});
        const Type type = decoder.take_type();
        bind(decoder, type, {type, Type::b32});
        switch (op) {
        case 0: return pick<u32, s32>(decoder, type, [](auto a, auto b) { return a + b; });
        case 1: return pick<u32, s32>(decoder, type, [](auto a, auto b) { return std::min(a, b); });
        case 2: return pick<u32, s32>(decoder, type, [](auto a, auto b) { return std::max(a, b); });
        case 3: return pick<u32>(decoder, type, [](auto a, auto b) { return a & b; });
        case 4: return pick<u32>(decoder, type, [](auto a, auto b) { return a | b; });
        case 5: return pick<u32>(decoder, type, [](auto a, auto b) { return a ^ b; });
        default: decoder.unsupported();
        }
    });
    set.define("activemask", "9.7.13.10", [](Decoder& decoder) {
        decoder.out(0, decoder.take_type());
        decoder.instruction->execute = [](Warp& warp, const Instruction& instruction, Mask mask) {
            for_lanes(mask, [&](unsigned lane) { warp.at<u32>(instruction.operands[0])[lane] = mask; });
        };
    });
    set.define("elect", "9.7.13.14", [](Decoder& decoder) { // the lowest of the members
        decoder.take("sync");
        decoder.out(0, Type::b32);
        decoder.out_second(decoder.at(0));
        decoder.in(1, Type::b32);
        decoder.instruction->execute = [](Warp& warp, const Instruction& instruction, Mask mask) {
            const u32* const members = warp.at<u32>(instruction.operands[2]);
            if (!warp.meet(instruction, mask, members)) return;
            Mask& p = warp.predicate(instruction.operands[1]);
            for_lanes(mask, [&](unsigned lane) {
                const auto leader = static_cast<unsigned>(std::countr_zero(members[lane] & mask));
                warp.at<u32>(instruction.operands[0])[lane] = leader;
                p = (p & ~(Mask{1} << lane)) | Mask{leader == lane} << lane;
            });
        };
    });
}

} // namespace cuda_emulator
