#include "instructions/memory.hpp"

// PTX ISA 9.7.9.25 cp.async and what waits for it. The source is read at once; the bytes arrive when a wait asks for
// them, the latest that the ISA allows, so that a missing wait shows.

namespace cuda_emulator {
namespace {

enum : u16 { with_size = 1, with_predicate = 2 };

// operands: shared address, global address, size of the source or predicate. immediate: offset of the shared address;
// the global one's is in target.
void copy(Warp& warp, const Instruction& instruction, Mask mask) {
    const unsigned bytes = instruction.modifiers >> 4;
    u64 to[32]{}, from[32]{};
    u32 sizes[32];
    for_lanes(mask, [&](unsigned lane) {
        to[lane] = (instruction.modifiers & 4 ? u64{warp.at<u32>(instruction.operands[0])[lane]}
                                              : warp.at<u64>(instruction.operands[0])[lane]) +
                   static_cast<u64>(instruction.immediate);
        from[lane] =
            warp.at<u64>(instruction.operands[1])[lane] + static_cast<u64>(s64{static_cast<s32>(instruction.target)});
        sizes[lane] = bytes;
        if (instruction.modifiers & with_size) sizes[lane] = warp.at<u32>(instruction.operands[2])[lane];
        if (instruction.modifiers & with_predicate && warp.predicate(instruction.operands[2]) >> lane & 1)
            sizes[lane] = 0;
        if (sizes[lane] > bytes)
            warp.fault(Fault::Kind::illegal_address,
                       "copies " + std::to_string(sizes[lane]) + " bytes where " + std::to_string(bytes) +
                           " have place",
                       instruction, lane);
    });
    MemoryModifiers how;
    Warp::Pointers source, destination;
    Mask left = 0;
    for_lanes(mask, [&](unsigned lane) { left |= Mask{sizes[lane] != 0} << lane; });
    while (left) { // lanes that read as many bytes are one access
        const u32 size = sizes[std::countr_zero(left)];
        Mask same = 0;
        for_lanes(left, [&](unsigned lane) { same |= Mask{sizes[lane] == size} << lane; });
        how.space = Space::global;
        Access what = how.access(AccessKind::load, size == bytes ? bytes : 1, instruction);
        what.bytes = std::bit_floor(size);
        warp.resolve(instruction, same, from, what, true, source);
        left &= ~same;
    }
    how.space = Space::shared;
    warp.resolve(instruction, mask, to, how.access(AccessKind::async_copy, bytes, instruction), false, destination);
    for_lanes(mask, [&](unsigned lane) {
        Warp::Copy copy{
            destination.lane[lane], {}, static_cast<u8>(bytes), static_cast<u8>(lane), warp.copy_groups[lane]};
        if (sizes[lane]) std::memcpy(copy.data.data(), source.lane[lane], sizes[lane]); // the rest is zeros
        warp.copies.push_back(copy);
    });
}

void commit(Warp& warp, const Instruction&, Mask mask) {
    for_lanes(mask, [&](unsigned lane) { ++warp.copy_groups[lane]; });
}

void finish(Warp& warp, auto has_to) {
    std::erase_if(warp.copies, [&](const Warp::Copy& copy) {
        if (!has_to(copy)) return false;
        std::memcpy(copy.to, copy.data.data(), copy.bytes);
        if (copy.barrier) arrive_at(warp, copy.barrier);
        return true;
    });
}

void arrive(Warp& warp, const Instruction& instruction, Mask mask, auto has_to) {
    finish(warp, [&](const Warp::Copy& copy) { return mask >> copy.lane & 1 && has_to(copy); });
    if (warp.observer()) warp.observer()->async_wait(warp, mask, instruction);
}

// All but the latest N groups.
void wait_group(Warp& warp, const Instruction& instruction, Mask mask) {
    arrive(warp, instruction, mask,
           [&](const Warp::Copy& copy) { return copy.group + instruction.immediate < warp.copy_groups[copy.lane]; });
}

void wait_all(Warp& warp, const Instruction& instruction, Mask mask) {
    arrive(warp, instruction, mask, [](const Warp::Copy&) { return true; });
}

void decode_cp(Decoder& decoder) {
    Instruction& instruction = *decoder.instruction;
    if (!decoder.take("async")) decoder.unsupported();
    if (decoder.take("bulk")) return decode_bulk_copy(decoder);
    if (decoder.take("mbarrier")) return decode_announcement(decoder);
    if (decoder.take("commit_group")) {
        instruction.execute = &commit;
        return;
    }
    if (decoder.take("wait_all")) {
        instruction.execute = &wait_all;
        return;
    }
    if (decoder.take("wait_group")) {
        const auto groups = decoder.number(decoder.at(0));
        if (!groups) decoder.unsupported("a number of groups that is not known");
        instruction.immediate = *groups;
        instruction.execute = &wait_group;
        return;
    }
    if (decoder.take_one({"ca", "cg"}) < 0) decoder.unsupported();
    decoder.take_one({"shared", "shared::cta"});
    decoder.take("global");
    decoder.ignore("L2::");
    decoder.address(decoder.at(0));
    const s64 offset = instruction.immediate;
    const bool narrow = instruction.flags & Instruction::address32;
    instruction.flags = 0;
    decoder.address(decoder.at(1));
    instruction.target = static_cast<u32>(instruction.immediate);
    instruction.immediate = offset;
    const auto bytes = decoder.number(decoder.at(2));
    if (!bytes) decoder.unsupported("a size that is not known");
    unsigned how = static_cast<unsigned>(*bytes) << 4 | (narrow ? 4 : 0);
    if (decoder.has(3)) {
        const Argument& size = decoder.at(3);
        const Symbol symbol = size.kind == Argument::Kind::name ? decoder.symbol(size.text) : Symbol{};
        const bool predicate = symbol.kind == Symbol::Kind::reg && symbol.type == Type::pred,
                   policy = symbol.type == Type::b64;
        if (predicate) decoder.in(3, Type::pred), how |= with_predicate;
        else if (!policy || size.kind == Argument::Kind::number) decoder.in(3, Type::b32), how |= with_size;
    }
    instruction.modifiers = static_cast<u16>(how);
    instruction.execute = &copy;
}

} // namespace

void finish_copies(Warp& warp, const std::array<std::size_t, 32>& count) {
    std::size_t i = 0;
    finish(warp, [&](const Warp::Copy& copy) { return i++ < count[copy.lane]; });
}

void define_asynchronous(InstructionSet& set) { set.define("cp", "9.7.9.25", decode_cp); }

} // namespace cuda_emulator
