#include "machine/block.hpp"
#include <algorithm>

namespace cuda_emulator {
namespace {

bool differs_between_blocks(Special special) {
    switch (special) {
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
    case Special::smid:
    case Special::cluster_ctarank:
    case Special::clusterid_x:
    case Special::clusterid_y:
    case Special::clusterid_z:
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z: return true;
    default: return false;
    }
}

} // namespace

Block::Block(Grid& owner) : grid(owner) {
    const Kernel& kernel = *grid.launch.kernel;
    threads = static_cast<unsigned>(grid.launch.block.count());
    warps = (threads + 31) / 32;
    register_bytes_ = (kernel.register_bytes + 63) / 64 * 64;
    local_bytes_ = (kernel.local_bytes * 32 + 63) / 64 * 64;
    shared_bytes = kernel.shared_bytes + grid.launch.dynamic_shared_bytes;
    registers_.reset(
        static_cast<std::byte*>(std::aligned_alloc(64, std::max<std::size_t>(64, warps * register_bytes_))));
    locals_.reset(static_cast<std::byte*>(std::aligned_alloc(64, std::max<std::size_t>(64, warps * local_bytes_))));
    // 128: no access to shared memory needs more, and bytes behind it are never touched.
    shared_memory_.reset(static_cast<std::byte*>(std::aligned_alloc(128, (shared_bytes + 255) / 128 * 128)));
    if (!registers_ || !locals_ || !shared_memory_) throw std::bad_alloc();
    std::memset(registers_.get(), 0, warps * register_bytes_);
    shared = shared_memory_.get();
    for (unsigned i = 0; i < warps; ++i) {
        warps_.push_back(std::make_unique<Warp>(*this, i));
        views_.push_back(warps_.back().get());
        turns_.push_back(i);
        Warp& warp = *warps_.back();
        warp.registers_ = registers_.get() + i * register_bytes_;
        warp.constants_ = reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(kernel.constants.data()));
        warp.local_ = locals_.get() + i * local_bytes_;
        for (const auto& [special, place] : kernel.specials)
            for (unsigned lane = 0; lane < 32; ++lane)
                warp.at<std::uint32_t>({place})[lane] = this->special(special, i, lane);
    }
    for (Barrier& barrier : barriers) {
        barrier.waiting.resize(warps);
        barrier.passed.resize(warps);
    }
}

void Block::begin(std::uint64_t number, Cluster* of) {
    const Launch& launch = grid.launch;
    index = number;
    position = {static_cast<unsigned>(number % launch.grid.x),
                static_cast<unsigned>(number / launch.grid.x % launch.grid.y),
                static_cast<unsigned>(number / launch.grid.x / launch.grid.y)};
    cluster = of;
    state = nullptr;
    exited = 0;
    at_cluster_barrier = nullptr;
    // What no thread wrote shows: as NaN, as -1.
    std::memset(shared, 0xff, shared_bytes);
    std::memset(locals_.get(), 0xff, warps * local_bytes_);
    for (unsigned i = 0; i < warps; ++i) {
        Warp& warp = *warps_[i];
        const unsigned count = std::min(32u, threads - 32 * i);
        warp.begin(count == 32 ? all_lanes : (Mask{1} << count) - 1);
    }
    for (const auto& [special, place] : launch.kernel->specials)
        if (differs_between_blocks(special))
            for (const auto& warp : warps_)
                std::fill_n(warp->at<std::uint32_t>({place}), 32, this->special(special, 0, 0));
}

void Block::started() {
    if (grid.observer) grid.observer->block_begins(*this, views_);
}

// PTX ISA 10, Special registers.
std::uint32_t Block::special(Special special, unsigned warp, unsigned lane) const {
    const Launch& launch = grid.launch;
    const Dim3 &block = launch.block, &all = launch.grid, &c = launch.cluster;
    const unsigned thread = 32 * warp + lane;
    switch (special) {
    case Special::tid_x: return thread % block.x;
    case Special::tid_y: return thread / block.x % block.y;
    case Special::tid_z: return thread / block.x / block.y;
    case Special::ntid_x: return block.x;
    case Special::ntid_y: return block.y;
    case Special::ntid_z: return block.z;
    case Special::ctaid_x: return position.x;
    case Special::ctaid_y: return position.y;
    case Special::ctaid_z: return position.z;
    case Special::nctaid_x: return all.x;
    case Special::nctaid_y: return all.y;
    case Special::nctaid_z: return all.z;
    case Special::laneid: return lane;
    case Special::warpid: return warp;
    case Special::nwarpid: return warps;
    case Special::smid: return static_cast<std::uint32_t>(index / c.count() % launch.multiprocessors);
    case Special::nsmid: return launch.multiprocessors;
    case Special::gridid: return static_cast<std::uint32_t>(launch.grid_id);
    case Special::lanemask_eq: return 1u << lane;
    case Special::lanemask_lt: return (1u << lane) - 1;
    case Special::lanemask_le: return (2u << lane) - 1;
    case Special::lanemask_ge: return ~((1u << lane) - 1);
    case Special::lanemask_gt: return ~((2u << lane) - 1);
    case Special::clusterid_x: return position.x / c.x;
    case Special::clusterid_y: return position.y / c.y;
    case Special::clusterid_z: return position.z / c.z;
    case Special::nclusterid_x: return all.x / c.x;
    case Special::nclusterid_y: return all.y / c.y;
    case Special::nclusterid_z: return all.z / c.z;
    case Special::cluster_ctaid_x: return position.x % c.x;
    case Special::cluster_ctaid_y: return position.y % c.y;
    case Special::cluster_ctaid_z: return position.z % c.z;
    case Special::cluster_nctaid_x: return c.x;
    case Special::cluster_nctaid_y: return c.y;
    case Special::cluster_nctaid_z: return c.z;
    case Special::cluster_ctarank: return cluster_rank;
    case Special::cluster_nctarank: return static_cast<std::uint32_t>(c.count());
    case Special::is_explicit_cluster: return c.count() > 1;
    case Special::total_smem_size:
    case Special::aggr_smem_size: return static_cast<std::uint32_t>(shared_bytes);
    case Special::dynamic_smem_size: return static_cast<std::uint32_t>(launch.dynamic_shared_bytes);
    // Where cooperative groups find what grid.sync() counts in.
    case Special::envreg1: return static_cast<std::uint32_t>(grid.workspace >> 32);
    case Special::envreg2: return static_cast<std::uint32_t>(grid.workspace);
    }
    return 0;
}

bool Block::has_group(Group::State state) const {
    for (const auto& warp : warps_)
        for (const Group& group : warp->groups())
            if (group.state == state) return true;
    return false;
}

Block::Slice Block::run(std::minstd_rand* order) {
    // Without an order: as far as each gets, one after the other. With one: a few instructions here, a few there.
    constexpr std::uint64_t far = 1 << 16;
    for (unsigned round = 0;; ++round) {
        if (order) std::shuffle(turns_.begin(), turns_.end(), *order);
        bool ran = false, sleeps = false, ended = true;
        for (unsigned i = 0; i < warps; ++i) {
            Warp& warp = *warps_[order ? turns_[i] : i];
            if (warp.groups().empty()) continue;
            switch (warp.run(order ? 1 + (*order)() % 64 : far)) {
            case Warp::Slice::ended: ran = true; continue;
            case Warp::Slice::ran: ran = true; break;
            case Warp::Slice::sleeps: sleeps = true; break;
            case Warp::Slice::waits: break;
            }
            if (!warp.groups().empty()) ended = false; // the last instruction of a turn may be the last of all
        }
        if (ended) return finish();
        if (grid.failed.load(std::memory_order_relaxed)) return Slice::waits;
        if (ran) grid.progress.fetch_add(1, std::memory_order_relaxed);
        const bool can_run = has_group(Group::State::ready);
        sleeps |= has_group(Group::State::sleeping); // also one that fell asleep as its turn ended
        if (!can_run && !sleeps && !has_group(Group::State::at_cluster)) deadlock();
        if (!can_run) return sleeps ? Slice::sleeps : Slice::waits;
        if (order && round == 8) return Slice::ran;
    }
}

Block::Slice Block::finish() {
    for (unsigned id = 0; id < barriers.size(); ++id)
        if (barriers[id].arrived) complete(id, nullptr);
    std::uint64_t count = 0;
    for (const auto& warp : warps_) count += warp->executed;
    grid.instructions.fetch_add(count, std::memory_order_relaxed);
    if (grid.observer) grid.observer->block_ends(*this);
    return Slice::ended;
}

void Block::arrive(Warp& warp, Mask mask, unsigned id, unsigned expected, bool waits, const Instruction& instruction) {
    if (id >= barriers.size())
        warp.fault(Fault::Kind::trap, "there is no barrier " + std::to_string(id), instruction,
                   static_cast<unsigned>(std::countr_zero(mask)));
    Barrier& barrier = barriers[id];
    if (!barrier.first) barrier.first = &instruction;
    else if (barrier.first != &instruction) barrier.other = barrier.first;
    barrier.expected = expected;
    // A count is one of whole warps.
    barrier.arrived += expected && mask == warp.living() ? 32 : static_cast<unsigned>(std::popcount(mask));
    (waits ? barrier.waiting : barrier.passed)[warp.index] |= mask;
    if (waits) warp.wait(mask, Group::State::at_barrier, instruction, id);
    if (came_all(barrier)) complete(id, &instruction);
}

bool Block::came_all(const Barrier& barrier) const {
    if (!barrier.arrived) return false;
    return barrier.expected ? barrier.arrived >= barrier.expected : barrier.arrived + exited >= threads;
}

void Block::thread_exits(unsigned count) {
    exited += count;
    grid.progress.fetch_add(1, std::memory_order_relaxed);
    for (unsigned id = 0; id < barriers.size(); ++id)
        if (!barriers[id].expected && came_all(barriers[id])) complete(id, barriers[id].first);
    if (at_cluster_barrier) cluster->complete_if_all_came(*at_cluster_barrier);
}

void Cluster::complete_if_all_came(const Instruction& instruction) {
    for (const auto& block : blocks)
        for (const auto& warp : block->all_warps())
            if (warp->living() & ~warp->at_cluster_barrier) return;
    std::vector<BlockView*> views;
    for (const auto& block : blocks) {
        views.push_back(block.get());
        block->at_cluster_barrier = nullptr;
        for (const auto& warp : block->all_warps()) {
            warp->at_cluster_barrier = 0;
            warp->release(Group::State::at_cluster);
        }
    }
    Grid& grid = blocks.front()->grid;
    grid.progress.fetch_add(1, std::memory_order_relaxed);
    if (grid.observer) grid.observer->cluster_barrier(views, instruction);
}

// The last has come: what bar.red found goes to the lanes that waited, and they go on.
void Block::complete(unsigned id, const Instruction* last) {
    Barrier& barrier = barriers[id];
    grid.progress.fetch_add(1, std::memory_order_relaxed);
    if (grid.observer && last)
        grid.observer->barrier(*this, {id, barrier.waiting, barrier.passed, barrier.expected ? 0 : exited,
                                       barrier.expected == 0, last, barrier.other});
    for (const auto& warp : warps_) {
        for (const Group& group : warp->groups())
            if (group.state == Group::State::at_barrier && group.barrier == id) finish_reduction(*warp, group, barrier);
        warp->release(Group::State::at_barrier, id);
    }
    std::ranges::fill(barrier.waiting, 0);
    std::ranges::fill(barrier.passed, 0);
    barrier.expected = barrier.arrived = barrier.count = 0;
    barrier.any = false;
    barrier.all = true;
    barrier.first = barrier.other = nullptr;
}

void Block::deadlock() {
    std::string text = "no thread of the block can go on:";
    Warp* stuck = nullptr;
    const Instruction* at = nullptr;
    unsigned lane = 0, said = 0;
    for (const auto& warp : warps_)
        for (const Group& group : warp->groups()) {
            const Instruction& place = group.waits_at ? *group.waits_at : warp->kernel().instructions[group.pc];
            if (!at) stuck = warp.get(), at = &place, lane = static_cast<unsigned>(std::countr_zero(group.lanes));
            if (++said > 3) continue;
            text += (said > 1 ? "; " : " ") + std::to_string(std::popcount(group.lanes)) + " of warp " +
                    std::to_string(warp->index) + (group.waits_at ? " wait at " : " poll at ") + place.detail->text;
            if (const unsigned line = place.detail->location.outermost().line)
                text += " (line " + std::to_string(line) + ")";
        }
    if (said > 3) text += "; and others";
    if (exited) text += "; " + std::to_string(exited) + " threads have ended";
    stuck->fault(Fault::Kind::deadlock, text, *at, lane);
}

} // namespace cuda_emulator
