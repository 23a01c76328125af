#pragma once
#include "machine/launch.hpp"
#include "machine/memory.hpp"
#include "ptx/module.hpp"
#include <algorithm>
#include <array>
#include <bit>
#include <mutex>

namespace cuda_emulator {

class Block;

/// Lanes of a warp that are at the same place.
struct Group {
    enum class State : std::uint8_t { ready, sleeping, at_barrier, at_meeting, at_cluster };
    std::uint32_t pc = 0;
    Mask lanes = 0;
    State state = State::ready;
    std::uint8_t barrier = 0;              ///< which, if at_barrier
    const Instruction* waits_at = nullptr; ///< the instruction that made it wait
    Mask needs = 0;                        ///< if at_meeting: the lanes it waits for
    bool called_off = false;               ///< its meeting: it goes on with the lanes it has
};

/// Calls f(lane) for each lane of the mask. The loop over a full warp is one that compilers make vectors of.
template <class F> inline void for_lanes(Mask mask, F f) {
    if (mask == all_lanes) {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < 32; ++lane) f(lane);
    } else
        for (; mask; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

/// 32 lanes, which run one instruction at a time.
///
/// Lanes that a branch separates form groups. The group with the lowest place in the text goes first, so that lanes
/// meet again behind the branch (Collange, Stack-less SIMT reconvergence at low cost, 2011).
class Warp : public WarpView {
public:
    Warp(Block& owner, unsigned index);
    void begin(Mask lanes);

    Block& owner() { return owner_; }
    const Launch& launch() const;
    const Kernel& kernel() const;
    Memory& memory() const;
    Observer* observer() const;

    /// The 32 values of a register or a constant.
    template <class T> T* at(Operand operand) {
        return reinterpret_cast<T*>((operand.constant() ? constants_ : registers_) + operand.offset());
    }
    Mask& predicate(Operand operand) { return *at<Mask>(operand); }

    // Control flow, for the instructions that change it.
    enum class Slice { ended, waits, sleeps, ran };
    /// Runs until all lanes have exited or wait, or the quantum is over.
    Slice run(std::uint64_t quantum);
    void jump(std::uint32_t target) { pc_ = target; }
    /// The lanes go to the target, the others of the group go on.
    void branch(const Instruction& instruction, Mask taken, std::uint32_t target);
    /// Each lane to its own target.
    void scatter(Mask mask, const std::uint32_t* targets);
    void exit(Mask mask);
    /// The lanes wait at the instruction behind this one.
    void wait(Mask mask, Group::State state, const Instruction& instruction, unsigned barrier = 0);
    void release(Group::State state, unsigned barrier = 0);
    /// For shfl.sync and its like: true if all lanes that the lanes name are here; otherwise the lanes wait, and come
    /// again.
    bool meet(const Instruction& instruction, Mask mask, const std::uint32_t* members);
    /// A load or an atomic saw this; seeing the same again and again makes the lanes let others go first.
    void polled(const Instruction& instruction, const void* address, std::uint64_t value);
    void sleep() { sleep_ = true; }
    /// nanosleep: others go first. Without polling it is a pause, after which the lanes go on by themselves.
    void pause() {
        sleep_ = true;
        if (std::ranges::all_of(polls_, [](const Poll& poll) { return poll.count == 0; })) wrote_ = true;
    }
    void wrote() { wrote_ = true; } ///< memory changed, which others may wait for
    Mask living() const { return lanes & ~exited; }
    const std::vector<Group>& groups() const { return groups_; }

    // Memory: see access.cpp.
    /// Host addresses of what the lanes access, after the observer has seen them and the bounds are checked.
    struct Pointers {
        std::byte* lane[32];
    };
    void resolve(const Instruction& instruction, Mask mask, Operand base, const Access& what, bool generic,
                 Pointers& to);
    void resolve(const Instruction& instruction, Mask mask, const std::uint64_t* addresses, const Access& what,
                 bool generic, Pointers& to);
    /// Held from resolve() until an atomic operation is done: the observer sees operations in the order in which other
    /// blocks see their results.
    std::unique_lock<std::mutex> in_order();
    std::byte* local(unsigned lane) { return local_ + lane * kernel().local_bytes; }
    /// The places of the generic addresses in their spaces.
    std::byte* host_pointer(const Instruction& instruction, unsigned lane, std::uint64_t generic);

    [[noreturn]] void fault(Fault::Kind kind, const std::string& text, const Instruction& instruction, unsigned lane);

    std::uint64_t executed = 0;  ///< instructions
    Mask at_cluster_barrier = 0; ///< lanes that have arrived at barrier.cluster
    /// cp.async: what has been read and is not yet written. The latest that the ISA allows, so that a wait that misses
    /// shows.
    struct Copy {
        std::byte* to;
        std::array<std::byte, 16> data;
        std::uint8_t bytes, lane;
        std::uint32_t group;          ///< the how-many-th of its lane
        bool announced = false;       ///< to an mbarrier, which waits for it
        std::byte* barrier = nullptr; ///< which, of the last copy that was announced at once
    };
    std::vector<Copy> copies;
    std::array<std::uint32_t, 32> copy_groups{}; ///< groups that each lane has committed
    /// cp.async.bulk from shared to global memory, in groups of their own.
    struct BulkStore {
        std::byte* to;
        const std::byte* from;
        std::size_t bytes;
        unsigned lane;
        std::uint32_t group;
    };
    std::vector<BulkStore> bulk_stores;
    std::array<std::uint32_t, 32> bulk_groups{};
    void finish_bulk_stores(Mask lanes, unsigned groups_left); ///< all but the latest groups

private:
    friend class Block;
    bool choose_group(Group& chosen, std::uint32_t& meeting_place);
    bool call_off_meetings();
    void run_group(std::uint32_t meeting_place, std::uint64_t& quantum);
    void translate(const Instruction& instruction, Mask mask, Space space, const std::uint64_t* addresses, Access what,
                   Pointers& to);

    Block& owner_;
    std::byte* registers_ = nullptr;
    std::byte* constants_ = nullptr;
    std::byte* local_ = nullptr;
    std::vector<Group> groups_;
    std::uint32_t pc_ = 0; ///< of the running group: of the next instruction
    Mask active_ = 0;      ///< the running group
    bool stop_ = false;    ///< the running group changed
    bool sleep_ = false, wrote_ = false;
    bool called_off_ = false;
    struct Poll {
        const Instruction* at;
        const void* address;
        std::uint64_t value;
        unsigned count;
    };
    std::array<Poll, 16> polls_{}; ///< of the last instructions that polled
    std::size_t next_poll_ = 0;    ///< the place of the next one
    Allocation near_;              ///< the allocation accessed last
};

/// What instructions for memory keep in Instruction::modifiers.
struct MemoryModifiers {
    unsigned elements = 1; ///< 1, 2, 4, 8
    Order order = Order::weak;
    Scope scope = Scope::none;
    Space space = Space::global;
    bool generic = false, silent = false;
    std::uint16_t pack() const {
        return static_cast<std::uint16_t>(std::countr_zero(elements) | unsigned(order) << 2 | unsigned(scope) << 5 |
                                          unsigned(space) << 8 | generic << 11 | silent << 12);
    }
    static MemoryModifiers of(const Instruction& instruction) {
        const unsigned bits = instruction.modifiers;
        return {1u << (bits & 3),
                static_cast<Order>(bits >> 2 & 7),
                static_cast<Scope>(bits >> 5 & 7),
                static_cast<Space>(bits >> 8 & 7),
                (bits >> 11 & 1) != 0,
                (bits >> 12 & 1) != 0};
    }
    Access access(AccessKind kind, unsigned bytes, const Instruction& instruction) const {
        return {space, kind, order, scope, bytes, elements, 0, nullptr, &instruction};
    }
};

} // namespace cuda_emulator
