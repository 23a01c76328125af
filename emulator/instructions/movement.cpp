#include "instructions/define.hpp"
#include "machine/texture.hpp"
#include <chrono>

// PTX ISA 9.7.9.1 mov, 10 special registers that change, 9.7.10 textures in linear memory.

namespace cuda_emulator {
namespace {

// {a, b, …} = d or d = {a, b, …}: the first part is the lowest. operands: whole, then parts.
template <bool unpack> void move_parts(Warp& warp, const Instruction& instruction, Mask mask) {
    const unsigned parts = instruction.modifiers, bytes = static_cast<unsigned>(instruction.immediate);
    for (unsigned part = 0; part < parts; ++part) {
        auto* const whole = warp.at<std::byte>(instruction.operands[0]);
        auto* const piece = warp.at<std::byte>(instruction.operands[1 + part]);
        const auto each = [&]<class T>(T) {
            for_lanes(mask, [=](unsigned lane) {
                std::byte* const at = whole + (lane * parts + part) * sizeof(T);
                if (unpack) std::memcpy(piece + lane * sizeof(T), at, sizeof(T));
                else std::memcpy(at, piece + lane * sizeof(T), sizeof(T));
            });
        };
        if (bytes == 1) each(u8{});
        else if (bytes == 2) each(u16{});
        else if (bytes == 4) each(u32{});
        else each(u64{});
    }
}

// The usual case: two halves. operands: whole, low, high.
template <class Whole, class Part, bool unpack>
void move_halves(Warp& warp, const Instruction& instruction, Mask mask) {
    Whole* const whole = warp.at<Whole>(instruction.operands[0]);
    Part *const low = warp.at<Part>(instruction.operands[1]), *const high = warp.at<Part>(instruction.operands[2]);
    if (unpack)
        for_lanes(mask, [=](unsigned lane) {
            const Whole w = whole[lane];
            low[lane] = static_cast<Part>(w);
            high[lane] = static_cast<Part>(w >> 8 * sizeof(Part));
        });
    else
        for_lanes(mask,
                  [=](unsigned lane) { whole[lane] = low[lane] | static_cast<Whole>(high[lane]) << 8 * sizeof(Part); });
}

Type part_type(unsigned bytes) {
    switch (bytes) {
    case 1: return Type::b8;
    case 2: return Type::b16;
    case 4: return Type::b32;
    default: return Type::b64;
    }
}

u64 nanoseconds() {
    return static_cast<u64>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
}

// %clock counts instructions of the warp: it grows, and is no time.
template <class T, int which> void read_clock(Warp& warp, const Instruction& instruction, Mask mask) {
    const u64 value = which == 0   ? warp.executed
                      : which == 1 ? nanoseconds()
                      : which == 2 ? nanoseconds() >> 32
                      : which == 3 ? warp.executed >> 32
                                   : warp.launch().grid_id;
    T* const d = warp.at<T>(instruction.operands[0]);
    for_lanes(mask, [=](unsigned lane) { d[lane] = static_cast<T>(value); });
    warp.wrote(); // who waits for a time waits for nobody
}

Handler clock_of(std::string_view name, Type type) {
    const bool wide = size_of(type) == 8;
    if (name == "%clock" || name == "%clock64") return wide ? &read_clock<u64, 0> : &read_clock<u32, 0>;
    if (name == "%clock_hi") return &read_clock<u32, 3>;
    if (name == "%globaltimer") return &read_clock<u64, 1>;
    if (name == "%globaltimer_lo") return &read_clock<u32, 1>;
    if (name == "%globaltimer_hi") return &read_clock<u32, 2>;
    if (name == "%gridid" && wide) return &read_clock<u64, 4>;
    return nullptr;
}

template <class T> void move(Warp& warp, const Instruction& instruction, Mask mask) {
    lane_wise<decltype([](T a) { return a; }), T, T>(warp, instruction, mask);
}

void decode_mov(Decoder& decoder) {
    const Type type = decoder.take_type();
    const Argument &to = decoder.at(0), &from = decoder.at(1);
    Instruction& instruction = *decoder.instruction;
    if (to.kind == Argument::Kind::vector || from.kind == Argument::Kind::vector) {
        const bool unpack = to.kind == Argument::Kind::vector;
        const std::vector<Argument>& parts = unpack ? to.parts : from.parts;
        const unsigned bytes = size_of(type) / static_cast<unsigned>(parts.size());
        if (unpack) decoder.bind(from, type);
        else decoder.out(to, type);
        for (const Argument& part : parts)
            unpack ? decoder.out(part, part_type(bytes)) : decoder.bind(part, part_type(bytes));
        instruction.modifiers = static_cast<u16>(parts.size());
        instruction.immediate = bytes;
        instruction.execute = unpack ? &move_parts<true> : &move_parts<false>;
        if (parts.size() == 2 && bytes == 4)
            instruction.execute = unpack ? &move_halves<u64, u32, true> : &move_halves<u64, u32, false>;
        if (parts.size() == 2 && bytes == 2)
            instruction.execute = unpack ? &move_halves<u32, u16, true> : &move_halves<u32, u16, false>;
        return;
    }
    if (const Handler clock = clock_of(from.text, type)) {
        decoder.out(0, type);
        instruction.execute = clock;
        return;
    }
    if (type == Type::pred) {
        bind(decoder, type, {type});
        instruction.modifiers = from.inverted;
        instruction.execute = [](Warp& warp, const Instruction& i, Mask mask) {
            Mask& d = warp.predicate(i.operands[0]);
            const Mask a = warp.predicate(i.operands[1]) ^ (i.modifiers ? all_lanes : 0);
            d = (d & ~mask) | (a & mask);
        };
        return;
    }
    bind(decoder, type, {type});
    struct Pair {
        u64 low, high;
    };
    switch (size_of(type)) {
    case 2: instruction.execute = &move<u16>; break;
    case 4: instruction.execute = &move<u32>; break;
    case 8: instruction.execute = &move<u64>; break;
    case 16: instruction.execute = &move<Pair>; break;
    default: decoder.unsupported();
    }
}

// tex1Dfetch: the element that the coordinate numbers; outside, zeros. Missing channels are 0, the last 1.
void fetch(Warp& warp, const Instruction& instruction, Mask mask) {
    const u64* const handles = warp.at<u64>(instruction.operands[4]);
    const s32* const x = warp.at<s32>(instruction.operands[5]);
    u64 addresses[32];
    Mask inside = 0;
    Access what;
    what.instruction = &instruction;
    for_lanes(mask, [&](unsigned lane) {
        const Texture& texture = *reinterpret_cast<const Texture*>(handles[lane]);
        what.bytes = texture.channels * texture.bytes_per_channel;
        what.elements = texture.channels;
        if (x[lane] < 0 || static_cast<std::size_t>(x[lane]) >= texture.elements) return;
        inside |= Mask{1} << lane;
        addresses[lane] = texture.address + static_cast<u64>(x[lane]) * what.bytes;
    });
    Warp::Pointers pointers;
    if (inside) warp.resolve(instruction, inside, addresses, what, false, pointers);
    for_lanes(mask, [&](unsigned lane) {
        const Texture& texture = *reinterpret_cast<const Texture*>(handles[lane]);
        for (unsigned channel = 0; channel < 4; ++channel) {
            u32 value = channel == 3 && texture.channels < 4 ? (texture.is_float ? 0x3f800000 : 1) : 0;
            if (channel < texture.channels) {
                value = 0;
                if (inside >> lane & 1)
                    std::memcpy(&value, pointers.lane[lane] + channel * texture.bytes_per_channel,
                                texture.bytes_per_channel);
                if (texture.is_signed && texture.bytes_per_channel < 4) {
                    const unsigned shift = 32 - 8 * texture.bytes_per_channel;
                    value = static_cast<u32>(static_cast<s32>(value << shift) >> shift);
                }
            }
            warp.at<u32>(instruction.operands[channel])[lane] = value;
        }
    });
}

} // namespace

void define_movement(InstructionSet& set) {
    set.define("mov", "9.7.9.1", decode_mov);
    set.define("tex", "9.7.10.3", [](Decoder& decoder) {
        decoder.take("1d");
        decoder.take("v4");
        const Type type = decoder.take_type(), coordinate = decoder.take_type();
        const Argument &to = decoder.at(0), &from = decoder.at(1);
        if (coordinate != Type::s32 || size_of(type) != 4 || to.parts.size() != 4 || from.parts.size() != 2 ||
            from.parts[1].parts.size() != 1)
            decoder.unsupported("other than tex1Dfetch");
        for (const Argument& part : to.parts) decoder.out(part, type);
        decoder.bind(from.parts[0], Type::u64);
        decoder.bind(from.parts[1].parts[0], Type::s32);
        decoder.instruction->execute = &fetch;
    });
}

} // namespace cuda_emulator
