#include "machine/warp.hpp"
#include "machine/block.hpp"
#include <algorithm>
#include <utility>

namespace cuda_emulator {

Warp::Warp(Block& owner, unsigned number) : owner_(owner) {
    block = &owner;
    index = number;
}

const Launch& Warp::launch() const { return owner_.grid.launch; }
const Kernel& Warp::kernel() const { return *owner_.grid.launch.kernel; }
Memory& Warp::memory() const { return owner_.grid.memory; }
Observer* Warp::observer() const { return owner_.grid.observer; }

void Warp::begin(Mask threads) {
    lanes = threads;
    exited = 0;
    state = nullptr;
    executed = 0;
    polls_ = {};
    next_poll_ = 0;
    near_ = {};
    at_cluster_barrier = 0;
    copies.clear();
    copy_groups.fill(0);
    bulk_stores.clear();
    bulk_groups.fill(0);
    groups_.assign(1, Group{static_cast<std::uint32_t>(kernel().entry), threads});
}

// The ready group with the lowest place, with all others that are there too; and the next place at which one waits.
bool Warp::choose_group(Group& chosen, std::uint32_t& meeting_place) {
    const auto ready = [](const Group& group) { return group.state == Group::State::ready; };
    const Group* lowest = nullptr;
    for (const Group& group : groups_)
        if (ready(group) && (!lowest || group.pc < lowest->pc)) lowest = &group;
    if (!lowest) return false;
    chosen = *lowest;
    meeting_place = ~0u;
    std::erase_if(groups_, [&](const Group& group) {
        if (!ready(group)) return false;
        if (group.pc != chosen.pc || group.called_off != chosen.called_off) {
            meeting_place = std::min(meeting_place, std::max(group.pc, chosen.pc + 1));
            return false;
        }
        chosen.lanes |= group.lanes;
        return true;
    });
    return true;
}

// Lanes that wait for each other at different places, or for lanes that have exited, go on.
bool Warp::call_off_meetings() {
    Mask waiting = 0;
    for (const Group& group : groups_)
        if (group.state == Group::State::at_meeting) waiting |= group.lanes;
    bool any = false;
    for (Group& group : groups_)
        if (group.state == Group::State::at_meeting && (group.needs & living() & ~waiting) == 0) {
            group.state = Group::State::ready;
            group.called_off = any = true;
        }
    return any;
}

void Warp::run_group(std::uint32_t meeting_place, std::uint64_t& quantum) {
    const Instruction* const code = kernel().instructions.data();
    Observer* const everything = observer() && observer()->wants_instructions ? observer() : nullptr;
    stop_ = sleep_ = false;
    do {
        const Instruction& instruction = code[pc_++];
        Mask mask = active_;
        if (instruction.guard.exists())
            mask &= instruction.guard_negated ? ~predicate(instruction.guard) : predicate(instruction.guard);
        if (everything) everything->instruction(*this, mask, instruction);
        ++executed;
        if (mask) instruction.execute(*this, instruction, mask);
        called_off_ = false;
    } while (--quantum && !stop_ && !sleep_ && pc_ < meeting_place);
}

Warp::Slice Warp::run(std::uint64_t quantum) {
    for (Group& group : groups_)
        if (group.state == Group::State::sleeping) group.state = Group::State::ready;
    while (quantum) {
        if (groups_.empty()) return Slice::ended;
        Group group;
        std::uint32_t meeting_place;
        if (!choose_group(group, meeting_place)) {
            if (call_off_meetings()) continue;
            const bool sleeps =
                std::ranges::any_of(groups_, [](const Group& each) { return each.state == Group::State::sleeping; });
            return sleeps ? Slice::sleeps : Slice::waits;
        }
        pc_ = group.pc;
        active_ = group.lanes;
        called_off_ = group.called_off;
        run_group(meeting_place, quantum);
        if (std::exchange(wrote_, false)) owner_.grid.progress.fetch_add(1, std::memory_order_relaxed);
        const Mask living = active_ ? active_ : group.lanes & ~exited; // none is active when all wait at a barrier
        if (executed > launch().instruction_limit && living)
            fault(Fault::Kind::endless,
                  "runs for more than " + std::to_string(launch().instruction_limit) +
                      " instructions: an endless loop?",
                  kernel().instructions[pc_], static_cast<unsigned>(std::countr_zero(living)));
        if (active_) groups_.push_back({pc_, active_, sleep_ ? Group::State::sleeping : Group::State::ready});
    }
    return Slice::ran;
}

void Warp::branch(const Instruction& instruction, Mask taken, std::uint32_t target) {
    if (observer()) observer()->branch(*this, taken, active_ & ~taken, instruction);
    if (taken == active_) return jump(target);
    groups_.push_back({target, taken});
    active_ &= ~taken;
    stop_ = true;
}

void Warp::scatter(Mask mask, const std::uint32_t* targets) {
    active_ &= ~mask;
    stop_ = true;
    for_lanes(mask, [&](unsigned lane) { groups_.push_back({targets[lane], Mask{1} << lane}); });
}

void Warp::finish_bulk_stores(Mask mask, unsigned groups_left) {
    std::erase_if(bulk_stores, [&](const BulkStore& store) {
        if (!(mask >> store.lane & 1) || store.group + groups_left >= bulk_groups[store.lane]) return false;
        std::memcpy(store.to, store.from, store.bytes);
        memory().mark_written(reinterpret_cast<std::uintptr_t>(store.to), store.bytes);
        return true;
    });
}

void Warp::exit(Mask mask) {
    finish_bulk_stores(mask, 0);
    active_ &= ~mask;
    exited |= mask;
    stop_ = true;
    owner_.thread_exits(static_cast<unsigned>(std::popcount(mask)));
}

void Warp::wait(Mask mask, Group::State why, const Instruction& instruction, unsigned barrier) {
    Group group{pc_, mask, why};
    group.barrier = static_cast<std::uint8_t>(barrier);
    group.waits_at = &instruction;
    groups_.push_back(group);
    active_ &= ~mask;
    stop_ = true;
}

void Warp::release(Group::State why, unsigned barrier) {
    for (Group& group : groups_)
        if (group.state == why && group.barrier == barrier) group.state = Group::State::ready;
}

bool Warp::meet(const Instruction& instruction, Mask mask, const std::uint32_t* members) {
    Mask needs = 0;
    for_lanes(mask, [&](unsigned lane) { needs |= members[lane]; });
    if ((needs & living() & ~mask) == 0 || called_off_) {
        if (observer()) // lanes with the same members meet each other
            for (Mask left = mask; left;) {
                const Mask same = members[std::countr_zero(left)];
                Mask lanes_of = 0;
                for_lanes(left, [&](unsigned lane) {
                    if (members[lane] == same) lanes_of |= Mask{1} << lane;
                });
                observer()->warp_sync(*this, lanes_of, same, instruction);
                left &= ~lanes_of;
            }
        return true;
    }
    // They come again with those that wait here already, once all have come.
    Group group{instruction.index, mask, Group::State::at_meeting};
    group.waits_at = &instruction;
    group.needs = needs;
    std::erase_if(groups_, [&](const Group& other) {
        if (other.state != Group::State::at_meeting || other.pc != group.pc) return false;
        group.lanes |= other.lanes;
        group.needs |= other.needs;
        return true;
    });
    if ((group.needs & living() & ~group.lanes) == 0) group.state = Group::State::ready;
    groups_.push_back(group);
    active_ &= ~mask;
    stop_ = true;
    return false;
}

void Warp::polled(const Instruction& instruction, const void* address, std::uint64_t value) {
    constexpr unsigned patience = 8;
    auto poll = std::ranges::find(polls_, &instruction, &Poll::at); // a loop may look at several words
    if (poll == polls_.end()) poll = polls_.begin() + next_poll_++ % polls_.size();
    if (poll->at != &instruction || poll->address != address || poll->value != value) {
        if (poll->count) owner_.grid.progress.fetch_add(1, std::memory_order_relaxed);
        *poll = {&instruction, address, value, 0};
    } else if (++poll->count >= patience) sleep_ = true;
}

void Warp::fault(Fault::Kind kind, const std::string& text, const Instruction& instruction, unsigned lane) {
    Fault fault(kind, text, kernel().name, instruction);
    fault.block = owner_.position;
    const unsigned thread = 32 * index + lane;
    const Dim3& size = launch().block;
    fault.thread = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
    throw fault;
}

} // namespace cuda_emulator
