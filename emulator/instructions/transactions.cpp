#include "instructions/memory.hpp"
#include <utility>

// PTX ISA 9.7.13.15 mbarrier, 9.7.9.25.4 cp.async.bulk, 9.7.9.14 st.async, 9.7.9.23 mapa, 9.7.9.24 getctarank: barriers
// that count threads and bytes, what counts at them, and addresses in the shared memory of the cluster's other blocks.

namespace cuda_emulator {
namespace {

/// An mbarrier object: 64 bits of shared memory, whose contents the ISA leaves open.
struct Transaction {
    u64 pending : 20;  ///< arrivals that the current phase waits for
    u64 expected : 20; ///< arrivals of a phase
    s64 bytes : 22;    ///< that are announced and not there yet
    u64 phase : 1;
    u64 initialised : 1;
};
static_assert(sizeof(Transaction) == 8);

Transaction read(const std::byte* at) {
    Transaction state;
    std::memcpy(&state, at, sizeof state);
    return state;
}

void write(Warp& warp, std::byte* at, Transaction state) {
    if (!state.pending && !state.bytes) { // the phase is complete
        state.phase ^= 1;
        state.pending = state.expected;
        warp.owner().grid.progress.fetch_add(1, std::memory_order_relaxed);
    }
    std::memcpy(at, &state, sizeof state);
}

void complete_bytes(Warp& warp, std::byte* at, std::size_t bytes) {
    Transaction state = read(at);
    state.bytes -= static_cast<s64>(bytes);
    write(warp, at, state);
}

/// What was announced to this mbarrier arrives, with all that the same lanes have copied before.
void finish_copies_for(Warp& warp, const std::byte* barrier) {
    std::array<std::size_t, 32> count{};
    for (std::size_t i = 0; i < warp.copies.size(); ++i)
        if (warp.copies[i].barrier == barrier) count[warp.copies[i].lane] = i + 1;
    finish_copies(warp, count);
}

enum Operation : u16 {
    init,
    invalidate,
    arrive,
    arrive_drop,
    expect,
    complete,
    test,
    try_wait,
    test_parity,
    try_parity
};
enum : u16 { with_bytes = 16, with_result = 32, with_count = 64, in_window = 128 }; // beside Operation

// One mbarrier of each lane, which are accessed like atomics. operands: result if any, address, count or bytes or phase
// if any.
void mbarrier(Warp& warp, const Instruction& instruction, Mask mask) {
    const auto what = static_cast<Operation>(instruction.modifiers & 15);
    const Operand* operand = instruction.operands + ((instruction.modifiers & with_result) != 0);
    const bool waits = what >= test;
    Access access;
    access.space = Space::shared;
    access.kind = waits                                ? AccessKind::load
                  : what == init || what == invalidate ? AccessKind::store
                                                       : AccessKind::atomic;
    access.order = waits ? Order::acquire : what == init || what == invalidate ? Order::weak : Order::release;
    access.scope = waits || what >= arrive ? Scope::cluster : Scope::none;
    access.bytes = 8;
    access.instruction = &instruction;
    Warp::Pointers at;
    warp.resolve(instruction, mask, operand[0], access, !(instruction.modifiers & in_window), at);
    Mask done = 0;
    const std::byte* asked = nullptr; // lanes mostly wait for the same one
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        std::byte* const place = at.lane[lane];
        const auto value = [&] { return warp.at<u32>(operand[1])[lane]; };
        if (waits && place != std::exchange(asked, place)) { // what is under way may arrive now
            for (const auto& other : warp.owner().all_warps()) finish_copies_for(*other, place);
            std::erase_if(warp.owner().cluster->copies, [&](const Cluster::BulkCopy& copy) {
                if (copy.barrier != place) return false;
                std::memcpy(copy.to, copy.from, copy.bytes);
                complete_bytes(warp, place, copy.bytes);
                return true;
            });
        }
        Transaction state = read(place);
        if (what != init && !state.initialised)
            warp.fault(Fault::Kind::trap, "uses an mbarrier that was not initialised", instruction, lane);
        switch (what) {
        case init: {
            const u32 count = value();
            state = {count, count, 0, 0, 1};
            std::memcpy(place, &state, sizeof state);
            break;
        }
        case invalidate:
            state.initialised = 0;
            std::memcpy(place, &state, sizeof state);
            break;
        case arrive:
        case arrive_drop: {
            const u32 count = instruction.modifiers & with_count ? value() : 1;
            if (instruction.modifiers & with_result) warp.at<u64>(instruction.operands[0])[lane] = state.phase;
            if (instruction.modifiers & with_bytes) state.bytes += value();
            if (count > state.pending)
                warp.fault(Fault::Kind::trap, "more threads arrive at an mbarrier than it expects", instruction, lane);
            state.pending -= count;
            if (what == arrive_drop) state.expected -= count;
            write(warp, place, state);
            break;
        }
        case expect:
            state.bytes += value();
            std::memcpy(place, &state, sizeof state);
            break;
        case complete: complete_bytes(warp, place, value()); break;
        default: {
            const u64 phase = what == test || what == try_wait ? warp.at<u64>(operand[1])[lane] : value() & 1;
            done |= Mask{phase != state.phase} << lane;
        }
        }
    }
    if (!waits) return;
    Mask& p = warp.predicate(instruction.operands[0]);
    p = (p & ~mask) | done;
    if (done != mask) warp.sleep();
}

void decode_mbarrier(Decoder& decoder) {
    const int name = decoder.take_one(
        {"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait"});
    if (name < 0) decoder.unsupported();
    auto what = static_cast<Operation>(name);
    unsigned how = 0;
    const bool expects = what == arrive && decoder.take("expect_tx");
    if (decoder.take("parity")) what = what == test ? test_parity : try_parity;
    const MemoryModifiers memory = take_memory_modifiers(decoder);
    if (!memory.generic) how |= in_window;
    decoder.take_type();
    std::size_t next = 0;
    if (what >= test) decoder.out(next++, Type::pred), how |= with_result;
    else if (what == arrive || what == arrive_drop) {
        if (decoder.at(0).kind != Argument::Kind::address) {
            if (decoder.at(0).text != "_") decoder.out(0, Type::b64), how |= with_result;
            ++next;
        }
    }
    decoder.address(decoder.at(next++));
    if (decoder.has(next)) {
        decoder.in(next,
                   what == test || what == try_wait ? Type::b64 : Type::b32); // a hint for how long to wait may follow
        how |= expects ? with_bytes : what == arrive || what == arrive_drop ? with_count : 0;
    }
    decoder.instruction->modifiers = static_cast<u16>(what | how);
    decoder.instruction->execute = &mbarrier;
}

// The address of a lane of a bulk copy, and that all its bytes are there.
std::byte* range(Warp& warp, const Instruction& instruction, unsigned lane, u64 address, std::size_t bytes,
                 bool shared) {
    if (!shared) {
        const Allocation allocation = warp.memory().find(address);
        if (address + bytes > allocation.end())
            warp.fault(Fault::Kind::illegal_address,
                       "copies " + std::to_string(bytes) + " bytes that no allocation holds", instruction, lane);
    }
    if (address % 16 || bytes % 16)
        warp.fault(Fault::Kind::misaligned_address, "copies in bulk what is no multiple of 16", instruction, lane);
    if (!shared) return reinterpret_cast<std::byte*>(address);
    const u64 rank = address >> 24, offset = address & 0xffffff;
    const auto& blocks = warp.owner().cluster->blocks;
    if (offset + bytes > warp.owner().shared_bytes || rank > blocks.size())
        warp.fault(Fault::Kind::illegal_address,
                   "copies " + std::to_string(bytes) + " bytes of shared memory at " + std::to_string(offset),
                   instruction, lane);
    return (rank ? blocks[rank - 1]->shared : warp.owner().shared) + offset;
}

u64 address_in(Warp& warp, Operand operand, bool narrow, unsigned lane) {
    return narrow ? warp.at<u32>(operand)[lane] : warp.at<u64>(operand)[lane];
}

enum : u16 { narrow_to = 1, narrow_from = 2, narrow_barrier = 4, counted = 8 };

// operands: to, from, bytes, mbarrier
void bulk_load(Warp& warp, const Instruction& instruction, Mask mask) {
    const Operand* const operand = instruction.operands;
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const std::size_t bytes = warp.at<u32>(operand[2])[lane];
        std::byte* const to = range(warp, instruction, lane,
                                    address_in(warp, operand[0], instruction.modifiers & narrow_to, lane), bytes, true);
        const std::byte* const from =
            range(warp, instruction, lane, address_in(warp, operand[1], false, lane), bytes, false);
        // An mbarrier is aligned to 8 bytes only.
        const u64 barrier = address_in(warp, operand[3], instruction.modifiers & narrow_barrier, lane);
        std::byte* const at = range(warp, instruction, lane, barrier & ~u64{15}, 16, true) + (barrier & 15);
        warp.owner().cluster->copies.push_back({to, from, bytes, at});
    }
}

// cp.async.mbarrier.arrive: the mbarrier waits for what the lane has copied. For a race, the copies are there now:
// whoever waits for the mbarrier comes after what the lane has done before it arrives itself. operands: mbarrier;
// modifiers: beside narrow_barrier, counted: the mbarrier expects this arrival anyway.
void announce(Warp& warp, const Instruction& instruction, Mask mask) {
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const u64 address = address_in(warp, instruction.operands[0], instruction.modifiers & narrow_barrier, lane) +
                            static_cast<u64>(instruction.immediate);
        std::byte* const at = range(warp, instruction, lane, address & ~u64{15}, 16, true) + (address & 15);
        Transaction state = read(at);
        if (!state.initialised)
            warp.fault(Fault::Kind::trap, "uses an mbarrier that was not initialised", instruction, lane);
        if (!(instruction.modifiers & counted)) ++state.pending;
        std::memcpy(at, &state, sizeof state);
        Warp::Copy* last = nullptr;
        for (Warp::Copy& copy : warp.copies)
            if (copy.lane == lane) last = &copy, copy.announced = true;
        if (last && !last->barrier) {
            last->barrier = at;
            continue;
        }
        std::array<std::size_t, 32> all{}; // nothing new: what there is need not be as late as it could be
        all[lane] = warp.copies.size();
        finish_copies(warp, all);
        arrive_at(warp, at);
    }
    if (warp.observer()) warp.observer()->async_wait(warp, mask, instruction);
}

// operands: to, from, bytes
void bulk_store(Warp& warp, const Instruction& instruction, Mask mask) {
    const Operand* const operand = instruction.operands;
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const std::size_t bytes = warp.at<u32>(operand[2])[lane];
        std::byte* const to = range(warp, instruction, lane, address_in(warp, operand[0], false, lane), bytes, false);
        const std::byte* const from =
            range(warp, instruction, lane, address_in(warp, operand[1], instruction.modifiers & narrow_from, lane),
                  bytes, true);
        warp.bulk_stores.push_back({to, from, bytes, lane, warp.bulk_groups[lane]});
    }
}

// st.async: operands: values, address, mbarrier; immediate: bytes of a value. Both addresses are in the cluster.
void store_async(Warp& warp, const Instruction& instruction, Mask mask) {
    const MemoryModifiers how = MemoryModifiers::of(instruction);
    const unsigned elements = how.elements, bytes = instruction.target;
    Warp::Pointers to, barrier;
    warp.resolve(instruction, mask, instruction.operands[elements],
                 how.access(AccessKind::store, elements * bytes, instruction), false, to);
    Access arrival = how.access(AccessKind::atomic, 8, instruction);
    arrival.elements = 1;
    arrival.order = Order::release;
    arrival.scope = Scope::cluster;
    warp.resolve(instruction, mask, instruction.operands[elements + 1], arrival, false, barrier);
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        for (unsigned i = 0; i < elements; ++i)
            std::memcpy(to.lane[lane] + i * bytes, warp.at<std::byte>(instruction.operands[i]) + lane * bytes, bytes);
        complete_bytes(warp, barrier.lane[lane], std::size_t{elements} * bytes);
    }
}

// The same place in the shared memory of another block of the cluster.
template <class T> void map_address(Warp& warp, const Instruction& instruction, Mask mask) {
    const T* const a = warp.at<T>(instruction.operands[1]);
    const u32* const rank = warp.at<u32>(instruction.operands[2]);
    T* const d = warp.at<T>(instruction.operands[0]);
    const T window = instruction.modifiers ? static_cast<T>(warp.memory().shared_window()) : T{0};
    for_lanes(mask, [&](unsigned lane) {
        if (rank[lane] >= warp.owner().cluster->blocks.size())
            warp.fault(Fault::Kind::illegal_address,
                       "maps an address to block " + std::to_string(rank[lane]) + " of the cluster", instruction, lane);
        d[lane] = window + (((a[lane] - window) & 0xffffff) | T{rank[lane] + 1} << 24);
    });
}

template <class T> void rank_of_address(Warp& warp, const Instruction& instruction, Mask mask) {
    const T* const a = warp.at<T>(instruction.operands[1]);
    const T window = instruction.modifiers ? static_cast<T>(warp.memory().shared_window()) : T{0};
    for_lanes(mask, [&](unsigned lane) {
        const auto rank = static_cast<u32>((a[lane] - window) >> 24);
        warp.at<u32>(instruction.operands[0])[lane] = rank ? rank - 1 : warp.owner().cluster_rank;
    });
}

void no_operation(Warp&, const Instruction&, Mask) {}

} // namespace

void decode_bulk_copy(Decoder& decoder) {
    Instruction& instruction = *decoder.instruction;
    if (decoder.take("commit_group")) {
        instruction.execute = [](Warp& warp, const Instruction&, Mask mask) {
            for_lanes(mask, [&](unsigned lane) { ++warp.bulk_groups[lane]; });
        };
        return;
    }
    if (decoder.take("wait_group")) {
        decoder.take("read");
        instruction.immediate = decoder.number(decoder.at(0)).value_or(0);
        instruction.execute = [](Warp& warp, const Instruction& i, Mask mask) {
            warp.finish_bulk_stores(mask, static_cast<unsigned>(i.immediate));
        };
        return;
    }
    if (decoder.take("prefetch")) {
        decoder.ignore("");
        instruction.execute = &no_operation;
        return;
    }
    decoder.ignore("L2::");
    const bool load = decoder.take("mbarrier::complete_tx::bytes");
    if (!load && !decoder.take("bulk_group")) decoder.unsupported();
    if (!decoder.take(load ? "global" : "shared::cta") ||
        !(load ? decoder.take("shared::cluster") || decoder.take("shared::cta") : decoder.take("global")))
        decoder.unsupported();
    const auto address = [&](std::size_t i, u16 narrow) {
        instruction.flags = 0;
        decoder.address(decoder.at(i));
        if (instruction.immediate) decoder.unsupported("an offset");
        if (instruction.flags & Instruction::address32) instruction.modifiers |= narrow;
        instruction.flags = 0;
    };
    address(0, narrow_to);
    address(1, narrow_from);
    decoder.in(2, Type::u32);
    if (load) address(3, narrow_barrier);
    instruction.execute = load ? &bulk_load : &bulk_store;
}

void arrive_at(Warp& warp, std::byte* barrier) {
    Transaction state = read(barrier);
    --state.pending;
    write(warp, barrier, state);
}

void decode_announcement(Decoder& decoder) {
    Instruction& instruction = *decoder.instruction;
    if (!decoder.take("arrive")) decoder.unsupported();
    if (decoder.take("noinc")) instruction.modifiers |= counted;
    if (decoder.take_one({"shared", "shared::cta"}) < 0) decoder.unsupported("a generic address");
    decoder.take_type();
    decoder.address(decoder.at(0));
    if (instruction.flags & Instruction::address32) instruction.modifiers |= narrow_barrier;
    instruction.flags = 0;
    instruction.execute = &announce;
}

void define_transactions(InstructionSet& set) {
    set.define("mbarrier", "9.7.13.15", decode_mbarrier);
    set.define("mapa", "9.7.9.23", [](Decoder& decoder) {
        const bool generic = decoder.take_one({"shared::cluster"}) < 0;
        const Type type = decoder.take_type();
        bind(decoder, type, {type, Type::u32});
        decoder.instruction->modifiers = generic;
        decoder.instruction->execute = size_of(type) == 8 ? &map_address<u64> : &map_address<u32>;
    });
    set.define("getctarank", "9.7.9.24", [](Decoder& decoder) {
        const bool generic = decoder.take_one({"shared::cluster"}) < 0;
        const Type type = decoder.take_type();
        bind(decoder, Type::u32, {type});
        decoder.instruction->modifiers = generic;
        decoder.instruction->execute = size_of(type) == 8 ? &rank_of_address<u64> : &rank_of_address<u32>;
    });
    set.define("setmaxnreg", "9.7.19.5", [](Decoder& decoder) {
        decoder.ignore("");
        decoder.instruction->execute = &no_operation;
    });
}

void decode_store_async(Decoder& decoder) {
    decoder.take("weak");
    decoder.take("shared::cluster");
    if (!decoder.take("mbarrier::complete_tx::bytes")) decoder.unsupported();
    const int vector = decoder.take_one({"v2", "v4"});
    const Type type = decoder.take_type();
    MemoryModifiers how;
    how.space = Space::shared;
    how.elements = vector < 0 ? 1 : 2u << vector;
    const Argument& data = decoder.at(1);
    if (vector < 0) decoder.bind(data, type);
    else
        for (const Argument& part : data.parts) decoder.bind(part, type);
    Instruction& instruction = *decoder.instruction;
    for (const std::size_t i : {0, 2}) {
        decoder.address(decoder.at(i));
        if (instruction.immediate || !(instruction.flags & Instruction::address32))
            decoder.unsupported("the form of an address");
    }
    instruction.target = size_of(type);
    instruction.modifiers = how.pack();
    instruction.execute = &store_async;
}

} // namespace cuda_emulator
