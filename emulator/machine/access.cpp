#include "machine/block.hpp"
#include <algorithm>

namespace cuda_emulator {
namespace {

const char* verb(AccessKind kind) {
    switch (kind) {
    case AccessKind::load: return "reads ";
    case AccessKind::store: return "writes ";
    default: return "updates ";
    }
}

std::string hex(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

} // namespace

std::unique_lock<std::mutex> Warp::in_order() {
    return observer() ? std::unique_lock(owner_.grid.atomics) : std::unique_lock<std::mutex>();
}

void Warp::resolve(const Instruction& instruction, Mask mask, Operand base, const Access& what, bool generic,
                   Pointers& to) {
    alignas(64) std::uint64_t addresses[32];
    const std::uint64_t offset = static_cast<std::uint64_t>(instruction.immediate);
    if (instruction.flags & Instruction::address32) {
        const auto* from = at<std::uint32_t>(base);
        for (unsigned lane = 0; lane < 32; ++lane) addresses[lane] = static_cast<std::uint32_t>(from[lane] + offset);
    } else {
        const auto* from = at<std::uint64_t>(base);
        for (unsigned lane = 0; lane < 32; ++lane) addresses[lane] = from[lane] + offset;
    }
    resolve(instruction, mask, addresses, what, generic, to);
}

void Warp::resolve(const Instruction& instruction, Mask mask, const std::uint64_t* addresses, const Access& what,
                   bool generic, Pointers& to) {
    if (!generic) return translate(instruction, mask, what.space, addresses, what, to);
    // PTX ISA 5.1.2: a generic address is one of shared or local memory if it falls into their window.
    const Memory& arena = memory();
    Mask shared = 0, local = 0;
    alignas(64) std::uint64_t own[32];
    for_lanes(mask, [&](unsigned lane) {
        own[lane] = addresses[lane];
        if (arena.is_shared(addresses[lane])) shared |= Mask{1} << lane, own[lane] -= arena.shared_window();
        else if (arena.is_local(addresses[lane])) local |= Mask{1} << lane, own[lane] -= arena.local_window();
    });
    if (shared) translate(instruction, shared, Space::shared, own, what, to);
    if (local) translate(instruction, local, Space::local, own, what, to);
    if (mask & ~shared & ~local) translate(instruction, mask & ~shared & ~local, Space::global, own, what, to);
}

void Warp::translate(const Instruction& instruction, Mask mask, Space space, const std::uint64_t* addresses,
                     Access what, Pointers& to) {
    what.space = space;
    what.mask = mask;
    what.addresses = addresses;
    if (observer() && !(space == Space::local && instruction.flags & Instruction::in_local))
        observer()->access(*this, what);
    if (what.kind == AccessKind::prefetch) return;
    if (what.kind == AccessKind::store) wrote();

    std::uint64_t low = ~std::uint64_t{0}, high = 0, ones = 0;
    for_lanes(mask, [&](unsigned lane) {
        low = std::min(low, addresses[lane]);
        high = std::max(high, addresses[lane]);
        ones |= addresses[lane];
    });
    const unsigned natural = what.bytes; // PTX ISA 6.4.1: aligned to the size of the access
    const auto first_lane = [&](auto wrong) {
        for (unsigned lane = 0; lane < 32; ++lane)
            if (mask >> lane & 1 && wrong(addresses[lane])) return lane;
        return 0u;
    };
    const auto does = [&] { return verb(what.kind) + bytes_in_words(what.bytes); };
    if (ones & (natural - 1)) {
        const unsigned lane = first_lane([&](std::uint64_t address) { return (address & (natural - 1)) != 0; });
        fault(Fault::Kind::misaligned_address,
              does() + " at " + hex(addresses[lane]) + ", which is no multiple of " + std::to_string(natural),
              instruction, lane);
    }
    switch (space) {
    case Space::shared: {
        const auto peer_of = [&](std::uint64_t address) -> Block* {
            const std::uint64_t rank = address >> 24;
            if (!rank) return &owner_;
            return rank <= owner_.cluster->blocks.size() ? owner_.cluster->blocks[rank - 1].get() : nullptr;
        };
        const std::uint64_t size = owner_.shared_bytes;
        if (high + what.bytes > size) {
            const unsigned lane = first_lane(
                [&](std::uint64_t address) { return !peer_of(address) || (address & 0xffffff) + what.bytes > size; });
            const std::uint64_t address = addresses[lane];
            if (!peer_of(address) || (address & 0xffffff) + what.bytes > size)
                fault(Fault::Kind::illegal_address,
                      does() + " of shared memory at " + std::to_string(address & 0xffffff) +
                          ", of which the block has " + bytes_in_words(size),
                      instruction, lane);
        }
        if (high < 1 << 24)
            for_lanes(mask, [&, own = owner_.shared](unsigned lane) { to.lane[lane] = own + addresses[lane]; });
        else
            for_lanes(mask, [&](unsigned lane) {
                to.lane[lane] = peer_of(addresses[lane])->shared + (addresses[lane] & 0xffffff);
            });
        return;
    }
    case Space::local: {
        const std::uint64_t size = kernel().local_bytes;
        if (high + what.bytes > size) {
            const unsigned lane = first_lane([&](std::uint64_t address) { return address + what.bytes > size; });
            fault(Fault::Kind::illegal_address,
                  does() + " of local memory at " + std::to_string(addresses[lane]) + ", of which a thread has " +
                      bytes_in_words(size),
                  instruction, lane);
        }
        for_lanes(mask, [&](unsigned lane) { to.lane[lane] = local(lane) + addresses[lane]; });
        return;
    }
    default: break;
    }
    const auto inside = [&](std::uint64_t first, std::uint64_t last) {
        return first >= near_.begin && last + what.bytes <= near_.end() && last + what.bytes > last;
    };
    if (!inside(low, high))
        for_lanes(mask, [&](unsigned lane) { // not all in the allocation of last time
            const std::uint64_t address = addresses[lane];
            if (inside(address, address)) return;
            near_ = memory().find(address);
            if (!inside(address, address))
                fault(Fault::Kind::illegal_address,
                      does() + " at " + hex(address) + ", " + memory().neighbourhood(address), instruction, lane);
        });
    for_lanes(mask, [&](unsigned lane) { to.lane[lane] = reinterpret_cast<std::byte*>(addresses[lane]); });
    if (what.order != Order::weak && near_.host_visible())
        owner_.grid.waits_for_host.store(true, std::memory_order_relaxed);
    if (!what.writes()) return;
    // Written from now on. Lanes side by side, the usual case, are one range.
    bool side_by_side = mask == all_lanes;
    for (unsigned lane = 0; lane < 32; ++lane)
        side_by_side &= addresses[lane] == low + std::uint64_t{lane} * what.bytes;
    if (side_by_side) memory().mark_written(low, std::size_t{32} * what.bytes);
    else for_lanes(mask, [&](unsigned lane) { memory().mark_written(addresses[lane], what.bytes); });
}

std::byte* Warp::host_pointer(const Instruction& instruction, unsigned lane, std::uint64_t generic) {
    Pointers pointers;
    std::uint64_t addresses[32];
    addresses[lane] = generic;
    Access what;
    what.bytes = 1;
    what.instruction = &instruction;
    resolve(instruction, Mask{1} << lane, addresses, what, true, pointers);
    return pointers.lane[lane];
}

} // namespace cuda_emulator
