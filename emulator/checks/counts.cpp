#include "checks/counts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <ostream>

#include "checks/findings.hpp"
#include "checks/joined_loads.hpp"
#include "machine/memory.hpp"
#include "ptx/module.hpp"

namespace cuda_emulator {

namespace {

constexpr unsigned sector_bytes = 32, banks = 32, word_bytes = 4;

template <class F> void for_lanes(Mask mask, const F& f) {
    for (; mask; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

/// A few numbers, each once.
class Distinct {
public:
    void add(std::uint64_t number) {
        if (size_ && numbers_[size_ - 1] == number) return;
        rising_ = rising_ && (!size_ || numbers_[size_ - 1] < number);
        numbers_[size_++] = number;
    }
    std::size_t count() {
        if (rising_) return size_;
        std::sort(numbers_.begin(), numbers_.begin() + size_);
        return static_cast<std::size_t>(std::unique(numbers_.begin(), numbers_.begin() + size_) - numbers_.begin());
    }

private:
    std::array<std::uint64_t, 64> numbers_;
    std::size_t size_ = 0;
    bool rising_ = true;
};

/// Whether lanes with the same number but for bit `bit` access the same address, where both are active.
bool pairs_agree(const Request& r, unsigned bit) {
    bool agree = true;
    for_lanes(r.mask, [&](unsigned lane) {
        const unsigned other = lane ^ bit;
        if (r.mask >> other & 1 && r.addresses[lane] != r.addresses[other]) agree = false;
    });
    return agree;
}

/// The most different words of a bank among the lanes.
std::uint64_t passes_together(const Request& r) {
    std::array<std::uint64_t, 128> words;
    std::size_t n = 0;
    for_lanes(r.mask, [&](unsigned lane) {
        const std::uint64_t first = r.addresses[lane] / word_bytes,
                            last = (r.addresses[lane] + r.bytes - 1) / word_bytes;
        for (std::uint64_t w = first; w <= last && n < 128; ++w) words[n++] = w;
    });
    std::array<std::uint64_t, banks> in_bank;
    in_bank.fill(~std::uint64_t{0});
    bool meet = false;
    for (std::size_t i = 0; i < n && !meet; ++i) {
        std::uint64_t& word = in_bank[words[i] % banks];
        meet = word != ~std::uint64_t{0} && word != words[i];
        word = words[i];
    }
    if (!meet) return n ? 1 : 0;
    std::sort(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n));
    const auto end = std::unique(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n));
    std::array<unsigned, banks> different{};
    for (auto w = words.begin(); w != end; ++w) ++different[*w % banks];
    return *std::max_element(different.begin(), different.end());
}

struct Site {
    std::uint64_t requests = 0, lanes = 0, splits = 0, bytes = 0, sectors = 0, min_sectors = 0, passes = 0,
                  min_passes = 0;
    std::uint64_t conflicts = 0, same = 0, excess = 0;
    unsigned width = 0;
    const char *kind = "", *space = "";
    std::vector<std::pair<unsigned, std::uint64_t>> worst;

    void add(const Site& o) {
        if (!o.requests) return;
        requests += o.requests, lanes += o.lanes, splits += o.splits, bytes += o.bytes, sectors += o.sectors;
        min_sectors += o.min_sectors, passes += o.passes, min_passes += o.min_passes, conflicts += o.conflicts,
            same += o.same;
        width = o.width, kind = o.kind, space = o.space;
        if (worst.empty() || o.excess > excess) excess = o.excess, worst = o.worst;
    }
};

/// What the blocks that one host thread ran have done.
struct Sheet {
    std::vector<Site> sites; // by instruction
    std::uint64_t instructions = 0, thread_instructions = 0, barriers = 0, idle = 0, warps = 0, blocks = 0;
    std::vector<Mask> touched; // memory, by warp of the block under way
};

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (static_cast<unsigned char>(c) >= ' ') result += c;
    }
    return result + '"';
}

std::string triple(const Dim3& d) {
    return "[" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + "]";
}

class LaunchCounts : public Observer {
public:
    LaunchCounts(std::ostream& out, std::mutex& lock, std::size_t steps)
        : out_(out), out_lock_(lock), max_steps_(steps) {
        wants_instructions = true;
    }

    void launch_begins(const Launch& launch, Memory& memory) override {
        launch_ = &launch;
        memory_ = &memory;
        joined_ = joined_loads(*launch.kernel);
    }

    void block_begins(BlockView& view, std::span<WarpView* const> warps) override {
        Sheet* sheet = nullptr;
        {
            const std::lock_guard guard(lock_);
            if (free_.empty()) {
                sheets_.push_back(std::make_unique<Sheet>());
                sheets_.back()->sites.resize(launch_->kernel->instructions.size());
                free_.push_back(sheets_.back().get());
            }
            sheet = free_.back();
            free_.pop_back();
        }
        sheet->touched.assign(view.warps, 0);
        sheet->warps += view.warps;
        ++sheet->blocks;
        for (WarpView* warp : warps) warp->state = sheet;
        const std::lock_guard guard(lock_);
        of_block_[view.index] = sheet;
    }

    void block_ends(BlockView& view) override {
        const std::lock_guard guard(lock_);
        const auto found = of_block_.find(view.index);
        Sheet& sheet = *found->second;
        of_block_.erase(found);
        std::uint64_t touched = 0;
        for (const Mask m : sheet.touched) touched += static_cast<std::uint64_t>(std::popcount(m));
        sheet.idle += view.threads - touched;
        free_.push_back(&sheet);
    }

    void instruction(WarpView& warp, Mask lanes, const Instruction&) override {
        Sheet& sheet = of(warp);
        ++sheet.instructions;
        sheet.thread_instructions += static_cast<std::uint64_t>(std::popcount(lanes));
    }

    void branch(WarpView& warp, Mask taken, Mask not_taken, const Instruction& instruction) override {
        Site& s = of(warp).sites[instruction.index];
        s.kind = "branch";
        s.space = "global";
        ++s.requests;
        s.lanes += static_cast<std::uint64_t>(std::popcount(taken | not_taken));
        s.splits += taken && not_taken;
    }

    void barrier(BlockView& view, const BarrierEvent&) override {
        const std::lock_guard guard(lock_);
        ++of_block_.at(view.index)->barriers;
    }

    void access(WarpView& warp, const Access& a) override {
        if (!a.mask || a.space == Space::local || a.space == Space::parameter || a.kind == AccessKind::prefetch) return;
        Sheet& sheet = of(warp);
        sheet.touched[warp.index] |= a.mask;
        unsigned bytes = a.bytes;
        if (!joined_.empty()) {
            if (joined_[a.instruction->index] == 0) return; // an earlier load has brought it along
            bytes *= joined_[a.instruction->index];
        }
        Site& s = sheet.sites[a.instruction->index];
        s.kind = a.kind == AccessKind::load                                        ? "load"
                 : a.kind == AccessKind::atomic || a.kind == AccessKind::reduction ? "atomic"
                                                                                   : "store";
        const bool shared = a.space == Space::shared;
        s.space = shared ? "shared" : a.space == Space::constant ? "constant" : "global";
        s.width = bytes;
        ++s.requests;
        s.lanes += static_cast<std::uint64_t>(std::popcount(a.mask));
        const Request request{a.mask, a.addresses, bytes};
        const std::uint64_t asked = bytes_of(request);
        std::uint64_t ideal = 0;
        const std::uint64_t took =
            shared ? passes_of(request, a.kind == AccessKind::load, &ideal) : sectors_of(request);
        const std::uint64_t least = shared ? (asked + banks * word_bytes - 1) / (banks * word_bytes)
                                           : (asked + sector_bytes - 1) / sector_bytes;
        s.bytes += asked;
        (shared ? s.passes : s.sectors) += took;
        (shared ? s.min_passes : s.min_sectors) += least;
        if (shared) s.conflicts += took - ideal;
        if (s.worst.empty() || took - least > s.excess) {
            s.excess = took - least;
            s.worst.clear();
            for_lanes(a.mask, [&](unsigned lane) { s.worst.emplace_back(lane, a.addresses[lane]); });
        }
        if (a.kind == AccessKind::atomic || a.kind == AccessKind::reduction) s.same += most_on_one(a);
        if (warp.block->index == 0 && max_steps_) note_step(warp, a, s, bytes);
    }

    void launch_ends() override {
        Sheet sum;
        sum.sites.resize(launch_->kernel->instructions.size());
        for (const auto& sheet : sheets_) {
            for (std::size_t i = 0; i < sum.sites.size(); ++i) sum.sites[i].add(sheet->sites[i]);
            sum.instructions += sheet->instructions;
            sum.thread_instructions += sheet->thread_instructions;
            sum.barriers += sheet->barriers;
            sum.idle += sheet->idle;
            sum.warps += sheet->warps;
            sum.blocks += sheet->blocks;
        }
        const Dim3 &grid = launch_->grid, &block = launch_->block;
        const auto number = [](const char* name, std::uint64_t n) {
            return ",\"" + std::string(name) + "\":" + std::to_string(n);
        };
        std::string text = "{\"kernel\":" + quoted(short_name(launch_->kernel->name)) + ",\"group\":" + triple(block) +
                           ",\"items\":" + triple({grid.x * block.x, grid.y * block.y, grid.z * block.z}) +
                           number("groups", sum.blocks) + number("warps", sum.warps) +
                           number("barriers", sum.barriers) + number("idle", sum.idle) +
                           number("instructions", sum.instructions) +
                           number("thread_instructions", sum.thread_instructions) + ",\"whole\":true,\"sites\":[";
        bool first = true;
        for (std::size_t i = 0; i < sum.sites.size(); ++i) {
            const Site& s = sum.sites[i];
            if (!s.requests) continue;
            const Location& at = own_location(launch_->kernel->instructions[i]);
            text += std::string(first ? "" : ",") + "{\"file\":" + quoted(at.file ? *at.file : "") +
                    number("line", at.line) + number("column", at.column) + ",\"kind\":\"" + s.kind +
                    "\",\"space\":\"" + s.space + "\"" + number("requests", s.requests) + number("lanes", s.lanes) +
                    number("splits", s.splits) + number("bytes", s.bytes) + number("sectors", s.sectors) +
                    number("min_sectors", s.min_sectors) + number("passes", s.passes) +
                    number("min_passes", s.min_passes) + number("conflicts", s.conflicts) + number("same", s.same) +
                    number("width", s.width) + number("joined", joined_.empty() ? 1 : joined_[i]) +
                    number("excess", s.excess) + ",\"worst\":[";
            for (std::size_t k = 0; k < s.worst.size(); ++k)
                text += std::string(k ? "," : "") + "[" + std::to_string(s.worst[k].first) + "," +
                        std::to_string(s.worst[k].second) + "]";
            text += "]}";
            first = false;
        }
        text += "],\"arrays\":" + arrays() + ",\"steps\":[" + steps_ + "]}\n";
        const std::lock_guard guard(out_lock_);
        out_ << text << std::flush;
    }

private:
    static Sheet& of(WarpView& warp) { return *static_cast<Sheet*>(warp.state); }

    static std::uint64_t most_on_one(const Access& a) {
        std::uint64_t most = 0;
        for_lanes(a.mask, [&](unsigned lane) {
            std::uint64_t n = 0;
            for_lanes(a.mask, [&](unsigned other) { n += a.addresses[other] == a.addresses[lane]; });
            most = std::max(most, n);
        });
        return most;
    }

    void note_step(const WarpView& warp, const Access& a, const Site& s, unsigned bytes) {
        const std::lock_guard guard(lock_);
        if (noted_ == max_steps_) return;
        const Location& at = own_location(*a.instruction);
        steps_ += std::string(noted_++ ? "," : "") + "{\"warp\":" + std::to_string(warp.index) +
                  ",\"line\":" + std::to_string(at.line) + ",\"kind\":\"" + s.kind + "\",\"space\":\"" + s.space +
                  "\",\"bytes\":" + std::to_string(bytes) + ",\"lanes\":[";
        bool first = true;
        for_lanes(a.mask, [&](unsigned lane) {
            steps_ += std::string(first ? "" : ",") + "[" + std::to_string(lane) + "," +
                      std::to_string(a.addresses[lane]) + "]";
            first = false;
        });
        steps_ += "]}";
    }

    /// The arrays that arguments point to.
    std::string arrays() const {
        std::string text = "[";
        std::size_t n = 0;
        for (const Parameter& p : launch_->kernel->parameters) {
            std::uint64_t value = 0;
            if (p.size != sizeof value || p.offset + p.size > launch_->arguments.size()) continue;
            std::memcpy(&value, launch_->arguments.data() + p.offset, sizeof value);
            const Allocation found = memory_->find(value);
            if (found.size == 0) continue;
            ++n;
            text += std::string(n > 1 ? "," : "") + "{\"name\":\"array " + std::to_string(n) +
                    "\",\"space\":\"global\",\"at\":" + std::to_string(value) +
                    ",\"number\":" + std::to_string(found.serial) + "}";
        }
        return text + "]";
    }

    std::ostream& out_;
    std::mutex& out_lock_;
    std::size_t max_steps_, noted_ = 0;
    std::string steps_;
    const Launch* launch_ = nullptr;
    Memory* memory_ = nullptr;
    std::vector<unsigned> joined_;
    std::mutex lock_;
    std::vector<std::unique_ptr<Sheet>> sheets_;
    std::vector<Sheet*> free_;
    std::map<std::uint64_t, Sheet*> of_block_;
};

class Both : public Observer {
public:
    Both(std::unique_ptr<Observer> one, std::unique_ptr<Observer> two) : one_(std::move(one)), two_(std::move(two)) {
        wants_instructions = one_->wants_instructions || two_->wants_instructions;
    }
    void launch_begins(const Launch& l, Memory& m) override { one_->launch_begins(l, m), two_->launch_begins(l, m); }
    void launch_ends() override { one_->launch_ends(), two_->launch_ends(); }
    void block_begins(BlockView& b, std::span<WarpView* const> w) override {
        one_->block_begins(b, w), two_->block_begins(b, w);
    }
    void block_ends(BlockView& b) override { two_->block_ends(b), one_->block_ends(b); }
    void access(WarpView& w, const Access& a) override { one_->access(w, a), two_->access(w, a); }
    void barrier(BlockView& b, const BarrierEvent& e) override { one_->barrier(b, e), two_->barrier(b, e); }
    void split_barrier(WarpView& w, Mask m, const Instruction& i) override {
        one_->split_barrier(w, m, i), two_->split_barrier(w, m, i);
    }
    void cluster_barrier(std::span<BlockView* const> b, const Instruction& i) override {
        one_->cluster_barrier(b, i), two_->cluster_barrier(b, i);
    }
    void warp_sync(WarpView& w, Mask m, Mask k, const Instruction& i) override {
        one_->warp_sync(w, m, k, i), two_->warp_sync(w, m, k, i);
    }
    void fence(WarpView& w, Mask m, Scope s, const Instruction& i) override {
        one_->fence(w, m, s, i), two_->fence(w, m, s, i);
    }
    void async_wait(WarpView& w, Mask m, const Instruction& i) override {
        one_->async_wait(w, m, i), two_->async_wait(w, m, i);
    }
    void bad_shuffle(WarpView& w, unsigned l, unsigned s, const Instruction& i) override {
        one_->bad_shuffle(w, l, s, i), two_->bad_shuffle(w, l, s, i);
    }
    void branch(WarpView& w, Mask t, Mask n, const Instruction& i) override {
        one_->branch(w, t, n, i), two_->branch(w, t, n, i);
    }
    void instruction(WarpView& w, Mask m, const Instruction& i) override {
        if (one_->wants_instructions) one_->instruction(w, m, i);
        if (two_->wants_instructions) two_->instruction(w, m, i);
    }

private:
    std::unique_ptr<Observer> one_, two_;
};

} // namespace

std::uint64_t sectors_of(const Request& r) {
    Distinct sectors;
    for_lanes(r.mask, [&](unsigned lane) {
        const std::uint64_t first = r.addresses[lane] / sector_bytes,
                            last = (r.addresses[lane] + r.bytes - 1) / sector_bytes;
        sectors.add(first);
        if (last != first) sectors.add(last);
    });
    return sectors.count();
}

std::uint64_t bytes_of(const Request& r) {
    Distinct addresses;
    for_lanes(r.mask, [&](unsigned lane) { addresses.add(r.addresses[lane]); });
    return addresses.count() * r.bytes;
}

std::uint64_t passes_of(const Request& r, bool load, std::uint64_t* ideal) {
    std::uint64_t passes = 0, parts = 0;
    const unsigned together = r.bytes > 8 ? 8 : r.bytes > 4 ? 16 : 32, whole = std::min(32u, 2 * together);
    for (unsigned first = 0; first < 32; first += whole) {
        const auto part = [&](unsigned from, unsigned lanes) {
            const Mask mask = r.mask & (lanes == 32 ? all_lanes : ((Mask{1} << lanes) - 1) << from);
            return Request{mask, r.addresses, r.bytes};
        };
        const Request all = part(first, whole);
        if (!all.mask) continue;
        if (whole == together || (load && (pairs_agree(all, 1) || pairs_agree(all, 2)))) {
            passes += passes_together(all);
            ++parts;
            continue;
        }
        for (unsigned from = first; from < first + whole; from += together) {
            const std::uint64_t n = passes_together(part(from, together));
            passes += n;
            parts += n > 0;
        }
    }
    if (ideal) *ideal = parts;
    return passes;
}

std::unique_ptr<Observer> count_launch(std::ostream& out, std::mutex& lock) {
    const char* const steps = std::getenv("CUDA_EMULATOR_STEPS");
    return std::make_unique<LaunchCounts>(out, lock, steps ? std::strtoul(steps, nullptr, 10) : 0);
}

std::unique_ptr<Observer> both(std::unique_ptr<Observer> first, std::unique_ptr<Observer> second) {
    if (!first || !second) return first ? std::move(first) : std::move(second);
    return std::make_unique<Both>(std::move(first), std::move(second));
}

} // namespace cuda_emulator
