#include "checks/ordering.hpp"

#include <algorithm>
#include <unordered_set>

namespace cuda_emulator {

const Release* Releases::at(std::uint64_t address) {
    if (!any_) return nullptr;
    const std::lock_guard guard(lock_);
    const auto found = at_.find(address);
    return found == at_.end() ? nullptr : found->second;
}

void Releases::put(std::uint64_t address, const Release* release, bool goes_on) {
    if (!release && (goes_on || !any_)) return;
    const std::lock_guard guard(lock_);
    const Release*& here = at_[address];
    if (release && goes_on && here) { // one that stands for both: it tells nothing of a thread by itself
        all_.push_back({release->block, release->thread, 0, 0, 0, {here, release}, address << 1 | 1, all_.size()});
        release = &all_.back();
    }
    here = release;
    any_ = true;
}

const Release* Releases::add(const Release& release) {
    const std::lock_guard guard(lock_);
    all_.push_back(release);
    return &all_.back();
}

BlockOrder::BlockOrder(Releases& releases, std::uint32_t block, unsigned threads)
    : releases_(releases), block_(block), warps_((threads + 31) / 32), size_(threads) {}

BlockOrder::Thread& BlockOrder::thread(unsigned t) {
    if (threads_.empty()) threads_.resize(size_);
    if (!threads_[t]) threads_[t] = std::make_unique<Thread>();
    return *threads_[t];
}

Time BlockOrder::Known::time_of(std::uint64_t key) const {
    const auto found = times.find(key);
    return found == times.end() ? 0 : found->second;
}

bool BlockOrder::Known::has(std::uint32_t block, unsigned thread, Time time) const {
    const std::uint64_t key = std::uint64_t{block} << 12;
    return !times.empty() &&
           (time_of(key) >= time || time_of(key | (64 + thread)) >= time || time_of(key | (1 + thread / 32)) >= time);
}

/// Adds all that the releases behind `head` tell. What stands behind a release that was known before is known.
void BlockOrder::Known::merge() {
    if (head == merged) return;
    std::vector<const Release*> todo{head};
    std::unordered_set<const Release*> seen{head, merged};
    std::vector<const Release*> found;
    while (!todo.empty()) {
        const Release* const r = todo.back();
        todo.pop_back();
        if (r->time && has(r->block, r->thread, r->time)) continue;
        if (r->series && series[r->series] >= r->place) continue;
        found.push_back(r);
        for (const Release* e : r->earlier)
            if (e && seen.insert(e).second) todo.push_back(e);
    }
    const auto raise = [](auto& a, auto b) { a = std::max(a, b); };
    for (const Release* r : found) {
        if (r->series) raise(series[r->series], r->place);
        if (!r->time) continue;
        raise(of_block(r->block), r->of_block);
        raise(of_warp(r->block, r->thread / 32), r->of_warp);
        raise(of_thread(r->block, r->thread), r->time);
    }
    merged = head;
}

bool BlockOrder::knows_by_other_ways(unsigned t, const Stamp& other) {
    const Warp& warp = warps_[t / 32];
    if (other.block == block_ && warp.lanes && other.thread / 32 == t / 32 &&
        other.time < (*warp.lanes)[t % 32][other.thread % 32])
        return true;
    const auto in = [&](Known& known) {
        if (!known.head) return false;
        known.merge();
        return known.has(other.block, other.thread, other.time + 1);
    };
    if (in(known_)) return true;
    if (warp.known && in(*warp.known)) return true;
    return !threads_.empty() && threads_[t] && in(threads_[t]->known);
}

/// One that stands for two.
const Release* BlockOrder::join(const Release* a, const Release* b, std::uint64_t series) {
    if (!a || a == b) return b;
    if (!b) return a;
    return releases_.add({block_, 0, 0, 0, 0, {a, b}, series, series ? ++now_ : 0});
}

/// The number of a series of this block. Those of addresses are odd.
std::uint64_t BlockOrder::series_of(unsigned number) const { return (std::uint64_t{block_} << 12 | number) << 1; }

/// What the lanes have acquired, but not yet their warp.
const Release* BlockOrder::collect(unsigned warp, std::uint32_t lanes, bool with_pending, bool reset) {
    const Release* all = nullptr;
    if (threads_.empty()) return all;
    for (unsigned t = 32 * warp; t < std::min(size_, 32 * warp + 32); ++t)
        if (lanes >> t % 32 & 1 && threads_[t]) {
            Thread& mine = *threads_[t];
            all = join(all, mine.known.head);
            if (with_pending) {
                all = join(all, mine.pending);
                mine.pending = nullptr;
            }
            if (reset) mine.known = {};
        }
    return all;
}

void BlockOrder::barrier() {
    floor_ = ++now_;
    if (std::all_of(warps_.begin(), warps_.end(), [](const Warp& w) { return !w.unfenced; })) fenced_ = floor_;
    if (!irregular_) return;
    const Release* all = known_.head;
    for (unsigned w = 0; w < warps_.size(); ++w) {
        all = join(all, collect(w, ~0u, true, true));
        if (warps_[w].known) all = join(all, warps_[w].known->head);
        warps_[w].known.reset();
        warps_[w].lanes.reset();
    }
    if (all == known_.head) return;
    known_.head = releases_.add({block_, 0, now_, floor_, floor_, {all}});
}

void BlockOrder::barrier(const std::vector<std::uint32_t>& arrived, const std::vector<std::uint32_t>& leaving) {
    ++now_;
    irregular_ = true;
    const Release* all = nullptr;
    for (unsigned w = 0; w < warps_.size(); ++w) {
        if (!arrived[w]) continue;
        const Release* of_warp = join(warps_[w].known ? warps_[w].known->head : nullptr, collect(w, ~0u, true, false));
        all = join(all, releases_.add({block_, 32 * w, now_, floor_, now_, {of_warp, known_.head}}));
    }
    for (unsigned w = 0; w < warps_.size(); ++w) {
        if (!leaving[w]) continue;
        if (!warps_[w].known) warps_[w].known = std::make_unique<Known>();
        warps_[w].known->head = releases_.add({block_, 32 * w, now_, floor_, now_, {warps_[w].known->head, all}});
        warps_[w].floor = now_; // a barrier has all lanes of a warp, or the checks of barriers tell of it
    }
}

void BlockOrder::cluster_barrier(Releases& releases, const std::vector<BlockOrder*>& blocks) {
    const Release* all = nullptr;
    for (BlockOrder* b : blocks) {
        b->irregular_ = true;
        b->barrier();
        all = releases.add({b->block_, 0, b->now_, b->floor_, b->floor_, {b->known_.head, all}});
    }
    for (BlockOrder* b : blocks) {
        ++b->now_;
        b->known_.head = releases.add({b->block_, 0, b->now_, b->floor_, b->floor_, {b->known_.head, all}});
    }
}

void BlockOrder::warp_sync(unsigned w, std::uint32_t lanes, std::uint32_t live) {
    ++now_;
    Warp& warp = warps_[w];
    const bool whole = (live & ~lanes) == 0;
    if (whole) {
        warp.floor = now_;
        if (!irregular_) return;
        if (const Release* all = collect(w, ~0u, false, true)) {
            if (!warp.known) warp.known = std::make_unique<Known>();
            warp.known->head = releases_.add({block_, 32 * w, now_, floor_, now_, {warp.known->head, all}});
        }
        return;
    }
    irregular_ = true;
    if (!warp.lanes) warp.lanes = std::make_unique<Matrix>();
    std::array<Time, 32> row{};
    for (unsigned i = 0; i < 32; ++i)
        if (lanes >> i & 1)
            for (unsigned k = 0; k < 32; ++k) row[k] = std::max(row[k], (*warp.lanes)[i][k]);
    for (unsigned k = 0; k < 32; ++k)
        if (lanes >> k & 1) row[k] = now_;
    for (unsigned i = 0; i < 32; ++i)
        if (lanes >> i & 1) (*warp.lanes)[i] = row;
    if (const Release* all = collect(w, lanes, false, false)) {
        const Release* const one = releases_.add({block_, 0, 0, 0, 0, {all}, series_of(2048 + w), now_});
        for (unsigned i = 0; i < 32; ++i)
            if (lanes >> i & 1) thread(32 * w + i).known.head = one;
    }
}

void BlockOrder::fence(unsigned w, std::uint32_t lanes) {
    ++now_;
    warps_[w].unfenced &= ~lanes;
    for (unsigned i = 0; i < 32; ++i) {
        if (!(lanes >> i & 1)) continue;
        Thread& mine = thread(32 * w + i);
        mine.fence = {now_, floor_, warps_[w].floor};
        if (mine.pending) acquire(32 * w + i, mine.pending);
        mine.pending = nullptr;
    }
}

void BlockOrder::acquire(unsigned t, const Release* release) {
    irregular_ = true;
    Known& known = thread(t).known;
    if (known.head == release) return;
    known.head = join(known.head, release, series_of(1 + t));
}

const Release* BlockOrder::released(unsigned t, const Fence& fence) {
    const Warp& warp = warps_[t / 32];
    const Release* const own = threads_.empty() || !threads_[t] ? nullptr : threads_[t]->known.head;
    return releases_.add({block_,
                          t,
                          fence.time,
                          std::max(fence.of_block, fenced_),
                          fence.of_warp,
                          {own, warp.known ? warp.known->head : nullptr, known_.head}});
}

void BlockOrder::strong_load(unsigned t, std::uint64_t address, bool acquires) {
    const Release* const here = releases_.at(address);
    if (!here) return;
    if (acquires) return acquire(t, here);
    irregular_ = true;
    Thread& mine = thread(t);
    if (mine.pending != here) mine.pending = join(mine.pending, here);
}

void BlockOrder::strong_store(unsigned t, std::uint64_t address, bool releases, bool atomic) {
    if (releases) {
        ++now_;
        return releases_.put(address, released(t, {now_, floor_, warps_[t / 32].floor}), atomic);
    }
    Fence fence = threads_.empty() || !threads_[t] ? Fence{} : threads_[t]->fence;
    if (fence.time || fenced_ > 1) {
        fence.time = std::max(fence.time, fenced_);
        releases_.put(address, released(t, fence), atomic);
    } else releases_.put(address, nullptr, atomic);
}

} // namespace cuda_emulator
