#include "checks/checks.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "checks/machine_state.hpp"
#include "checks/register_uses.hpp"
#include "checks/shadow.hpp"
#include "ptx/module.hpp"

namespace cuda_emulator {

namespace {

/// An address as in Oclgrind: the number of the allocation, and the byte within it.
std::string place_in(std::uint64_t number, std::uint64_t offset) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%" PRIx64, number << 48 | (offset & ((std::uint64_t{1} << 48) - 1)));
    return text;
}

const char* name_of(Space space) {
    return space == Space::global ? "global" : space == Space::shared ? "shared" : "local";
}

template <class F> void for_lanes(Mask mask, const F& f) {
    for (; mask; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

/// CUDA_EMULATOR_UNIFORM_WRITES=1: whether stores of one and the same value are races, too.
bool uniform_writes() {
    static const char* const set = std::getenv("CUDA_EMULATOR_UNIFORM_WRITES");
    return set && *set == '1';
}

bool all_written(const std::uint8_t* shadow, unsigned bytes) {
    switch (bytes) { // one comparison for the usual widths
    case 4: {
        std::uint32_t four;
        std::memcpy(&four, shadow, 4);
        return four == 0x01010101u;
    }
    case 8: {
        std::uint64_t eight;
        std::memcpy(&eight, shadow, 8);
        return eight == 0x0101010101010101u;
    }
    default: return std::all_of(shadow, shadow + bytes, [](std::uint8_t b) { return b != 0; });
    }
}

Strength strength_of(const Access& a) {
    const bool atomic = a.kind == AccessKind::atomic || a.kind == AccessKind::reduction;
    if (a.order == Order::weak && !atomic) return Strength::weak;
    return a.scope == Scope::cta ? Strength::block : Strength::device;
}

/// What is kept of a block while it runs.
struct Watched {
    BlockView* view = nullptr;
    std::unique_ptr<BlockOrder> order;
    std::uint32_t round = 0; // of its shared memory
    std::vector<std::uint8_t> shared_written, local_written;
    SharedCells shared;

    /// A strong load or an atomic operation that has not yet been done: afterwards the releases that it met are known.
    struct Load {
        unsigned thread;
        std::uint64_t address;
        bool acquires;
    };
    std::vector<Load> loads;

    /// What a load has read although nobody wrote it. It is told of when it is used.
    struct Unset {
        Mask lanes;
        const Instruction* load;
        Space space;
        std::uint64_t at;
        unsigned bytes, thread;
        bool in_part; // the load has also read what was written
    };
    std::vector<std::unordered_map<std::string_view, Unset>> unset; // by warp and register
    std::array<std::optional<Unset>, 8> stored;                     // by the store that comes now, by element
    bool stores_unset = false;

    struct Copy { // of cp.async, under way
        std::uint64_t at;
        unsigned thread;
        Access what;
    };
    std::vector<Copy> copies;

    struct Range {
        std::uintptr_t begin = 0, end = 0;
        bool host_visible = false;
    };
    std::array<Range, 64> ranges; // in which an instruction last accessed memory
};

class LaunchChecks : public Observer {
public:
    explicit LaunchChecks(Checks& checks) : checks_(checks) { wants_instructions = true; }

    void launch_begins(const Launch& launch, Memory& memory) override {
        launch_ = &launch;
        kernel_ = launch.kernel;
        memory_ = &memory;
        cells_ = checks_.cells(memory);
        round_ = next_round();
        orders_memory_.resize(kernel_->instructions.size());
        bulk_copies_ =
            std::any_of(kernel_->instructions.begin(), kernel_->instructions.end(), [](const Instruction& i) {
                return i.detail && i.detail->opcode.starts_with("cp.async.bulk.") &&
                       i.detail->opcode.find(".shared::cluster.global") != std::string::npos;
            });
        for (const Instruction& i : kernel_->instructions)
            orders_memory_[i.index] = i.detail && i.detail->opcode.starts_with("bar.warp.sync");
    }

    void block_begins(BlockView& view, std::span<WarpView* const>) override {
        Watched* b = nullptr;
        {
            const std::lock_guard guard(lock_);
            if (free_.empty()) {
                blocks_.push_back(std::make_unique<Watched>());
                free_.push_back(blocks_.back().get());
            }
            b = free_.back();
            free_.pop_back();
        }
        view.state = b;
        b->view = &view;
        b->order = std::make_unique<BlockOrder>(releases_, static_cast<std::uint32_t>(view.index), view.threads);
        b->round = next_round();
        b->shared_written.assign(view.shared_bytes, 0);
        b->shared.resize(view.shared_bytes);
        b->local_written.clear();
        b->copies.clear();
        b->unset.assign(view.warps, {});
        b->ranges.fill({});
    }

    void block_ends(BlockView& view) override {
        Watched& b = of(view);
        settle(b);
        const std::lock_guard guard(lock_);
        free_.push_back(&b);
        view.state = nullptr;
    }

    void access(WarpView& warp, const Access& a) override {
        Watched& b = of(*warp.block);
        settle(b);
        if (a.kind == AccessKind::prefetch || !a.mask) return;
        switch (a.space) {
        case Space::global: return global(b, warp, a);
        case Space::shared: return shared_of_cluster(b, warp, a);
        case Space::local: return local(b, warp, a);
        default: return;
        }
    }

    void barrier(BlockView& view, const BarrierEvent& event) override {
        Watched& b = of(view);
        settle(b);
        if (event.all) {
            b.order->barrier();
        } else {
            std::vector<Mask> came(view.warps), waited(view.warps);
            for (unsigned w = 0; w < view.warps; ++w) {
                waited[w] = w < event.waiting.size() ? event.waiting[w] : 0;
                came[w] = waited[w] | (w < event.arrived.size() ? event.arrived[w] : 0);
            }
            b.order->barrier(came, waited);
        }
        // Named barriers with a count may be reached at several places: by those who arrive and those who wait.
        const bool elsewhere = event.all && event.other && key(*event.other) != key(*event.instruction);
        if (!event.exited && !elsewhere) return;
        unsigned first = 0;
        for (unsigned w = 0; w < event.waiting.size(); ++w)
            if (event.waiting[w]) {
                first = 32 * w + static_cast<unsigned>(std::countr_zero(event.waiting[w]));
                break;
            }
        if (event.exited)
            tell("Block divergence detected (barrier)", "divergence", b, first, *event.instruction,
                 std::to_string(event.exited) + " of " + std::to_string(view.threads) +
                     " threads have ended before they reach the barrier");
        if (elsewhere)
            tell("Block divergence detected (barrier)", "divergence", b, first, *event.instruction,
                 "some threads wait at this barrier and others at that of line " +
                     std::to_string(own_location(*event.other).line));
    }

    void cluster_barrier(std::span<BlockView* const> views, const Instruction&) override {
        std::vector<BlockOrder*> orders;
        for (BlockView* view : views) {
            settle(of(*view));
            orders.push_back(of(*view).order.get());
        }
        BlockOrder::cluster_barrier(releases_, orders);
    }

    void warp_sync(WarpView& warp, Mask lanes, Mask members, const Instruction& instruction) override {
        Watched& b = of(*warp.block);
        settle(b);
        if (const Mask strangers = lanes & ~members)
            tell("Warp divergence detected (" + instruction.detail->opcode + ")", "mask", b,
                 32 * warp.index + std::countr_zero(strangers), instruction,
                 "the thread is not in its own mask of lanes");
        if (orders_memory_[instruction.index]) b.order->warp_sync(warp.index, lanes, warp.lanes & ~warp.exited);
    }

    void fence(WarpView& warp, Mask lanes, Scope scope, const Instruction&) override {
        Watched& b = of(*warp.block);
        settle(b);
        if (scope != Scope::none) b.order->fence(warp.index, lanes);
    }

    void async_wait(WarpView& warp, Mask lanes, const Instruction&) override {
        Watched& b = of(*warp.block);
        settle(b);
        std::erase_if(b.copies, [&](const Watched::Copy& copy) {
            if (copy.thread / 32 != warp.index || !(lanes >> copy.thread % 32 & 1) ||
                is_under_way(warp, copy.thread % 32, b.view->shared + copy.at))
                return false;
            std::memset(b.shared_written.data() + copy.at, 1, copy.what.bytes);
            Record mine{b.round, static_cast<std::uint32_t>(b.view->index), b.order->now(),
                        Record::pack(copy.thread, Strength::weak, copy.what.instruction->index)};
            for (unsigned i = 0; i < copy.what.bytes; i += 4) {
                Record& write = b.shared.words.write[(copy.at + i) / 4];
                if (write.round == b.round && write.strength() == Strength::under_way && write.thread() == copy.thread)
                    write = mine;
            }
            return true;
        });
    }

    void instruction(WarpView& warp, Mask lanes, const Instruction& i) override {
        Watched& b = of(*warp.block);
        if (b.stores_unset) b.stored = {}, b.stores_unset = false;
        if (!b.unset[warp.index].empty() && lanes) follow_unset(b, warp, lanes, i);
    }

    void bad_shuffle(WarpView& warp, unsigned lane, unsigned source, const Instruction& instruction) override {
        Watched& b = of(*warp.block);
        settle(b);
        tell("Invalid shuffle from lane " + std::to_string(source), "shuffle", b, 32 * warp.index + lane, instruction,
             "the lane does not take part, so what is read from it is undefined");
    }

private:
    static std::uint32_t next_round() {
        static std::atomic<std::uint32_t> last{0};
        return ++last;
    }
    static Watched& of(BlockView& view) { return *static_cast<Watched*>(view.state); }
    static const void* key(const Instruction& i) { // the same for the copies that a compiler makes of one statement
        const Location& at = own_location(i);
        return at.file ? reinterpret_cast<const void*>(std::uintptr_t{at.line}) : &i;
    }

    // ---- What waits for an access to be done
    // -------------------------------------------------------------------------

    void settle(Watched& b) {
        if (b.loads.empty()) return;
        for (const Watched::Load& l : b.loads) b.order->strong_load(l.thread, l.address, l.acquires);
        b.loads.clear();
    }

    // ---- Spaces
    // ------------------------------------------------------------------------------------------------------

    void global(Watched& b, const WarpView& warp, const Access& a) {
        const unsigned first = 32 * warp.index;
        Watched::Range& range = b.ranges[a.instruction->index % b.ranges.size()];
        Mask inside = 0;
        for_lanes(a.mask, [&](unsigned lane) {
            const std::uint64_t at = a.addresses[lane];
            if (at - range.begin > range.end - range.begin - a.bytes || range.end - range.begin < a.bytes) {
                const Allocation found = memory_->find(at);
                if (found.size == 0 || at + a.bytes > found.end()) return outside(b, first + lane, a, at);
                range = {found.begin, found.end(), found.host_visible()};
            }
            if (at & (a.bytes - 1)) return misaligned(b, first + lane, a, at);
            inside |= Mask{1} << lane;
        });
        if (!inside) return;
        if (a.reads() && !range.host_visible) {
            for_lanes(inside, [&](unsigned lane) {
                if (!all_written(memory_->written(a.addresses[lane]), a.bytes))
                    unset(b, first + lane, a, a.addresses[lane], memory_->written(a.addresses[lane]));
            });
        }
        if (b.stores_unset && a.kind == AccessKind::store)
            for (const auto& stored : b.stored)
                if (stored && !stored->in_part && (stored->lanes & inside)) tell_unset(*warp.block, *stored);
        const Strength strength = strength_of(a);
        BlockOrder& order = *b.order;
        if (strength == Strength::weak) order.weak_access(warp.index, inside);
        else if (a.writes())
            for_lanes(inside, [&](unsigned lane) { strong_store(b, first + lane, a, a.addresses[lane]); });
        if (cells_) race_global(b, warp, a, inside, strength);
        if (strength != Strength::weak && a.reads() && a.kind != AccessKind::reduction)
            for_lanes(inside, [&](unsigned lane) { strong_load(b, first + lane, a, a.addresses[lane]); });
    }

    void race_global(Watched& b, const WarpView& warp, const Access& a, Mask inside, Strength strength) {
        const unsigned first = 32 * warp.index;
        Record mine{round_, static_cast<std::uint32_t>(b.view->index), b.order->now(), 0};
        const bool writes = a.writes();
        if (!writes) inside = readers(a, inside);
        std::size_t held = ~std::size_t{0};
        for_lanes(inside, [&](unsigned lane) {
            const std::uint64_t at = a.addresses[lane];
            const std::size_t offset = cells_->offset(at), piece = offset / GlobalCells::piece;
            if (piece != held) {
                if (held != ~std::size_t{0}) cells_->unlock(held);
                cells_->lock(held = piece);
            }
            mine.who = Record::pack(first + lane, strength, a.instruction->index);
            std::uint32_t& bytes_used = cells_->bytes_used(offset);
            const auto race = [&](unsigned where, unsigned bytes) {
                return [&, where, bytes](const Record& other, bool wrote) {
                    found_race(b, warp, lane, a, where, reinterpret_cast<const std::byte*>(at), bytes, other, wrote);
                };
            };
            if (a.bytes < 4) {
                bytes_used = round_;
                check(cells_->words, offset / 4, mine, writes, *b.order, race(0, a.bytes));
                for (unsigned i = 0; i < a.bytes; ++i)
                    note(cells_->bytes, offset + i, mine, writes, *b.order, race(i, 1));
                return;
            }
            for (unsigned i = 0; i < a.bytes; i += 4) {
                note(cells_->words, (offset + i) / 4, mine, writes, *b.order, race(i, 4));
                if (bytes_used == round_)
                    for (unsigned k = i; k < i + 4; ++k)
                        check(cells_->bytes, offset + k, mine, writes, *b.order, race(k, 1));
            }
        });
        if (held != ~std::size_t{0}) cells_->unlock(held);
    }

    /// Of the block, or of others of its cluster.
    void shared_of_cluster(Watched& b, const WarpView& warp, const Access& a) {
        Mask left = a.mask;
        while (left) {
            const std::uint64_t rank = a.addresses[std::countr_zero(left)] >> 24;
            Mask same = 0;
            std::array<std::uint64_t, 32> addresses;
            for_lanes(left, [&](unsigned lane) {
                if (a.addresses[lane] >> 24 != rank) return;
                same |= Mask{1} << lane;
                addresses[lane] = a.addresses[lane] & 0xffffff;
            });
            left &= ~same;
            if (rank == 0 && same == a.mask) return shared(b, b, warp, a);
            BlockView* const home = rank ? block_of_cluster(warp, rank - 1) : warp.block;
            if (!home || !home->state) continue; // the machine ends the kernel
            Access part = a;
            part.mask = same;
            part.addresses = addresses.data();
            shared(b, of(*home), warp, part);
        }
    }

    /// @param home whose memory it is
    void shared(Watched& b, Watched& home, const WarpView& warp, const Access& a) {
        const unsigned first = 32 * warp.index;
        const std::size_t size = home.view->shared_bytes;
        Mask inside = 0;
        for_lanes(a.mask, [&](unsigned lane) {
            const std::uint64_t at = a.addresses[lane];
            if (at + a.bytes > size) return outside(b, first + lane, a, at);
            if (at & (a.bytes - 1)) return misaligned(b, first + lane, a, at);
            inside |= Mask{1} << lane;
        });
        if (!inside) return;
        std::uint8_t* const written = home.shared_written.data();
        if (a.reads() && a.kind != AccessKind::async_copy && !bulk_copies_)
            for_lanes(inside, [&](unsigned lane) {
                const std::uint64_t at = a.addresses[lane];
                if (!all_written(written + at, a.bytes)) unset(b, first + lane, a, at, written + at);
            });
        const bool writes = a.writes() || a.kind == AccessKind::async_copy;
        const bool copies = a.kind == AccessKind::async_copy;
        if (copies) for_lanes(inside, [&](unsigned lane) { b.copies.push_back({a.addresses[lane], first + lane, a}); });
        else if (writes)
            for_lanes(inside, [&](unsigned lane) { std::memset(written + a.addresses[lane], 1, a.bytes); });
        store_unset(b, a, inside, written, 0);

        const Strength strength = copies ? Strength::under_way : strength_of(a);
        if (strength != Strength::weak && a.writes())
            for_lanes(inside,
                      [&](unsigned lane) { strong_store(b, first + lane, a, shared_key(home, a.addresses[lane])); });
        Record mine{home.round, static_cast<std::uint32_t>(b.view->index), b.order->now(), 0};
        if (a.bytes < 4) home.shared.use_bytes();
        const bool bytes_used = home.shared.uses_bytes();
        for_lanes(writes ? inside : readers(a, inside), [&](unsigned lane) {
            const std::uint64_t at = a.addresses[lane];
            mine.who = Record::pack(first + lane, strength, a.instruction->index);
            const auto race = [&](unsigned where, unsigned bytes) {
                return [&, where, bytes](const Record& other, bool wrote) {
                    found_race(b, warp, lane, a, where, home.view->shared + at, bytes, other, wrote);
                };
            };
            if (a.bytes < 4) {
                check(home.shared.words, at / 4, mine, writes, *b.order, race(0, a.bytes));
                for (unsigned i = 0; i < a.bytes; ++i)
                    note(home.shared.bytes, at + i, mine, writes, *b.order, race(i, 1));
                return;
            }
            for (unsigned i = 0; i < a.bytes; i += 4) {
                note(home.shared.words, (at + i) / 4, mine, writes, *b.order, race(i, 4));
                if (bytes_used)
                    for (unsigned k = i; k < i + 4; ++k)
                        check(home.shared.bytes, at + k, mine, writes, *b.order, race(k, 1));
            }
        });
        if (strength != Strength::weak && a.reads() && a.kind != AccessKind::reduction && !copies)
            for_lanes(inside,
                      [&](unsigned lane) { strong_load(b, first + lane, a, shared_key(home, a.addresses[lane])); });
    }

    void local(Watched& b, const WarpView& warp, const Access& a) {
        const unsigned first = 32 * warp.index;
        const std::size_t size = kernel_->local_bytes;
        if (b.local_written.empty()) b.local_written.assign(size * b.view->threads, 0);
        for_lanes(a.mask, [&](unsigned lane) {
            const std::uint64_t at = a.addresses[lane];
            if (at + a.bytes > size) return outside(b, first + lane, a, at);
            if (at & (a.bytes - 1)) return misaligned(b, first + lane, a, at);
            std::uint8_t* const written = b.local_written.data() + (first + lane) * size + at;
            if (a.reads() && !all_written(written, a.bytes)) unset(b, first + lane, a, at, written);
            if (a.writes()) std::memset(written, 1, a.bytes);
            store_unset(b, a, Mask{1} << lane, b.local_written.data() + first * size, size);
        });
    }

    /// The lanes of a load that need to be noted: where all read the same, two.
    static Mask readers(const Access& a, Mask mask) {
        const std::uint64_t at = a.addresses[std::countr_zero(mask)];
        bool same = true;
        for_lanes(mask, [&](unsigned lane) { same = same && a.addresses[lane] == at; });
        const Mask others = mask & (mask - 1);
        return same ? mask & ~(others & (others - 1)) : mask;
    }

    // ---- Order
    // -------------------------------------------------------------------------------------------------------

    /// Addresses of shared memory stand apart from those of global memory.
    std::uint64_t shared_key(const Watched& b, std::uint64_t at) const {
        return std::uint64_t{1} << 62 | std::uint64_t{b.round} << 24 | at;
    }
    void strong_store(Watched& b, unsigned thread, const Access& a, std::uint64_t address) {
        b.order->strong_store(thread, address, a.order == Order::release || a.order == Order::acq_rel,
                              a.kind != AccessKind::store);
    }
    void strong_load(Watched& b, unsigned thread, const Access& a, std::uint64_t address) {
        if (releases_.any())
            b.loads.push_back({thread, address, a.order == Order::acquire || a.order == Order::acq_rel});
    }

    // ---- What is told
    // ------------------------------------------------------------------------------------------------

    /// Whether it is the first time that this is found at these instructions.
    bool is_new(const char* kind, const Instruction& one, std::uint32_t other = 0) {
        const std::lock_guard guard(lock_);
        return told_.insert(std::string(kind) + std::to_string(one.index) + "," + std::to_string(other)).second;
    }

    Party party(std::uint64_t block, unsigned thread, const Instruction& instruction) const {
        const auto position = [](const Dim3& size, std::uint64_t i) {
            return Dim3{static_cast<unsigned>(i % size.x), static_cast<unsigned>(i / size.x % size.y),
                        static_cast<unsigned>(i / size.x / size.y)};
        };
        return {position(launch_->block, thread), position(launch_->grid, block), &instruction};
    }

    void tell(const std::string& what, const std::string& kind, const Watched& b, unsigned thread, const Instruction& i,
              const std::string& note) {
        if (is_new(kind.c_str(), i))
            checks_.findings().add({what, kind, kernel_->name, note, party(b.view->index, thread, i), {}});
    }

    /// The place that an access was meant for: "... global memory address 0x1000000000004".
    std::string place(Space space, std::uint64_t at) const {
        std::string text = std::string(name_of(space)) + " memory address ";
        if (space != Space::global) return text + place_in(1, at);
        const Allocation a = memory_->nearest(at);
        return text + (a.begin && memory_->in_arena(at) ? place_in(a.serial, at - a.begin) : place_in(0, at));
    }

    static std::string what(const char* fault, const Access& a) {
        const bool writes = a.writes() || (a.kind == AccessKind::async_copy && a.space == Space::shared);
        return std::string(fault) +
               (a.kind == AccessKind::atomic || a.kind == AccessKind::reduction ? " atomic operation"
                : writes                                                        ? " write"
                                                                                : " read") +
               " of size " + std::to_string(a.bytes) + " at ";
    }

    void outside(const Watched& b, unsigned thread, const Access& a, std::uint64_t at) {
        if (!is_new("outside", *a.instruction)) return;
        std::string note;
        if (a.space == Space::shared)
            note = "the block has " + bytes_in_words(b.view->shared_bytes) + " of shared memory";
        else if (a.space == Space::local)
            note = "the thread has " + bytes_in_words(kernel_->local_bytes) + " of local memory";
        else note = memory_->neighbourhood(at);
        checks_.findings().add({what("Invalid", a) + place(a.space, at),
                                "outside",
                                kernel_->name,
                                note,
                                party(b.view->index, thread, *a.instruction),
                                {}});
    }

    void misaligned(const Watched& b, unsigned thread, const Access& a, std::uint64_t at) {
        tell(what("Misaligned", a) + place(a.space, at), "misaligned", b, thread, *a.instruction,
             "the address is no multiple of " + std::to_string(a.bytes));
    }

    /// A lane reads what was never written.
    void unset(Watched& b, unsigned thread, const Access& a, std::uint64_t at, const std::uint8_t* written) {
        const Watched::Unset found{Mask{1} << thread % 32,
                                   a.instruction,
                                   a.space,
                                   at,
                                   a.bytes,
                                   thread,
                                   std::any_of(written, written + a.bytes, [](std::uint8_t w) { return w != 0; })};
        if (a.kind != AccessKind::load || !a.instruction->detail->opcode.starts_with("ld."))
            return tell_unset(*b.view, found);
        const std::vector<std::string_view>& names = uses(*a.instruction).writes;
        const unsigned each = a.bytes / a.elements;
        auto& by_name = b.unset[thread / 32];
        for (unsigned e = 0; e < a.elements && e < names.size(); ++e) {
            const std::uint8_t* const part = written + e * each;
            if (std::all_of(part, part + each, [](std::uint8_t w) { return w != 0; })) continue;
            by_name.try_emplace(names[e], found).first->second.lanes |= found.lanes;
        }
    }

    void tell_unset(const BlockView& view, const Watched::Unset& u) {
        if (!is_new("unset", *u.load)) return;
        checks_.findings().add(
            {"Uninitialized value of size " + std::to_string(u.bytes) + " read from " + place(u.space, u.at),
             "unset",
             kernel_->name,
             "",
             party(view.index, u.thread, *u.load),
             {}});
    }

    /// Follows what was never written through copies and arithmetic. It is told of where it decides on an address or
    /// where it comes to global memory; the padding of structures may be copied there.
    void follow_unset(Watched& b, const WarpView& warp, Mask lanes, const Instruction& i) {
        using Kind = RegisterUses::Kind;
        auto& unset = b.unset[warp.index];
        const RegisterUses& now = uses(i);
        std::optional<Watched::Unset> passed_on;
        for (std::size_t k = 0; k < now.reads.size(); ++k) {
            const auto found = unset.find(now.reads[k]);
            if (found == unset.end() || !(found->second.lanes & lanes)) continue;
            Watched::Unset u = found->second;
            u.lanes &= lanes;
            const bool address =
                std::find(now.addresses.begin(), now.addresses.end(), now.reads[k]) != now.addresses.end();
            if (address || now.kind == Kind::changes_memory) {
                tell_unset(*warp.block, u);
                continue;
            }
            switch (now.kind) {
            case Kind::stores:
                if (const std::size_t element = k - now.addresses.size(); element < b.stored.size())
                    b.stored[element] = u, b.stores_unset = true;
                continue;
            case Kind::decides: continue; // too little is known of what follows
            case Kind::selects:
                if (k < 2) u.lanes &= k == 0 ? predicate_of(warp, i.operands[3]) : ~predicate_of(warp, i.operands[3]);
                break;
            case Kind::copies: break;
            case Kind::shuffles:
                u.lanes = k == 0 && i.detail->opcode.find(".idx.") == std::string::npos ? lanes : 0;
                break;
            default: u.in_part = false;
            }
            if (!u.lanes) continue;
            if (passed_on) passed_on->lanes |= u.lanes;
            else passed_on = u;
        }
        for (const std::string_view name : now.writes) {
            if (const auto found = unset.find(name); found != unset.end() && !(found->second.lanes &= ~lanes))
                unset.erase(found);
            if (!passed_on) continue;
            const auto [at, is_new_one] = unset.try_emplace(name, *passed_on);
            if (!is_new_one) at->second.lanes |= passed_on->lanes;
        }
    }

    /// After a store has been noted: what it wrote of values that nobody wrote stays so.
    void store_unset(Watched& b, const Access& a, Mask inside, std::uint8_t* written_of_lane0, std::size_t distance) {
        if (!b.stores_unset || a.kind != AccessKind::store) return;
        const unsigned each = a.bytes / a.elements;
        for (unsigned e = 0; e < a.elements && e < b.stored.size(); ++e)
            if (b.stored[e])
                for_lanes(inside & b.stored[e]->lanes, [&](unsigned lane) {
                    std::memset(written_of_lane0 + lane * distance + a.addresses[lane] + e * each, 0, each);
                });
    }

    const RegisterUses& uses(const Instruction& i) {
        std::call_once(uses_made_, [&] {
            for (const Instruction& one : kernel_->instructions) uses_.push_back(uses_of(one));
        });
        return uses_[i.index];
    }

    /// Whether a store leaves bytes as they are, or another lane stores the same there.
    bool stores_same(const WarpView& warp, unsigned lane, const Access& a, unsigned where, const std::byte* memory,
                     unsigned bytes, const Record& other) const {
        const unsigned peer = other.thread() % 32;
        const bool together = other.instruction() == (a.instruction->index & 0xfffff) &&
                              other.block == warp.block->index && other.thread() / 32 == warp.index &&
                              a.mask >> peer & 1 && a.addresses[peer] == a.addresses[lane];
        for (unsigned i = where; i < where + bytes; ++i) {
            const std::optional<std::byte> mine = stored_byte(warp, lane, a, i);
            const std::optional<std::byte> others = together ? stored_byte(warp, peer, a, i) : memory[i];
            if (!mine || mine != others) return false;
        }
        return true;
    }

    /// @param at of the access @param where the race is, from there on
    void found_race(Watched& b, const WarpView& warp, unsigned lane, const Access& a, unsigned where,
                    const std::byte* at, unsigned bytes, const Record& other, bool wrote) {
        const bool writes = a.writes() || (a.kind == AccessKind::async_copy && a.space == Space::shared);
        const char* const kind = wrote && writes ? "Write-write" : "Read-write";
        if (wrote && !uniform_writes() && a.kind == AccessKind::store &&
            stores_same(warp, lane, a, where, at, bytes, other))
            return;
        const Instruction& others =
            kernel_->instructions[std::min<std::size_t>(other.instruction(), kernel_->instructions.size() - 1)];
        if (!is_new(kind, *a.instruction, others.index)) return;
        checks_.findings().add({std::string(kind) + " data race at " + place(a.space, a.addresses[lane] + where),
                                "race", kernel_->name, "", party(other.block, other.thread(), others),
                                party(b.view->index, 32 * warp.index + lane, *a.instruction)});
    }

    Checks& checks_;
    const Launch* launch_ = nullptr;
    const Kernel* kernel_ = nullptr;
    Memory* memory_ = nullptr;
    GlobalCells* cells_ = nullptr;
    std::uint32_t round_ = 0;
    Releases releases_;
    std::vector<bool> orders_memory_; // by instruction: bar.warp.sync
    bool bulk_copies_ = false;        // which fill shared memory with no access that an observer sees
    std::mutex lock_;
    std::vector<std::unique_ptr<Watched>> blocks_;
    std::vector<Watched*> free_;
    std::unordered_set<std::string> told_;
    std::once_flag uses_made_;
    std::vector<RegisterUses> uses_; // by instruction
};

} // namespace

Checks::Checks() = default;
Checks::~Checks() = default;

std::unique_ptr<Observer> Checks::observe() { return std::make_unique<LaunchChecks>(*this); }

GlobalCells* Checks::cells(const Memory& memory) {
    const std::lock_guard guard(lock_);
    const auto [at, is_new] = cells_.try_emplace(&memory);
    if (is_new) {
        try {
            at->second = std::make_unique<GlobalCells>(memory);
        } catch (const std::runtime_error& error) {
            std::fprintf(stderr, "CUDA emulator: races in global memory are not looked for: %s\n", error.what());
        }
    }
    return at->second.get();
}

} // namespace cuda_emulator
