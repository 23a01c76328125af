// A plugin for Oclgrind: counts what a GPU would be asked for, for every line of a kernel.
//
// Oclgrind runs the work-items of a group one after the other, each to the next barrier. A GPU runs 32 neighbours
// together, a warp: where they take different branches, it runs one side and then the other, and where the sides meet,
// the lanes go on together. The plugin notes what each work-item does and replays that warp by warp. In a replay the
// lanes whose next instruction stands first in the kernel go ahead, all that stand there together, and the others wait:
// so lanes meet again behind a branch and behind a loop.
//
// Each time that a warp runs an instruction of memory is one request. Global memory answers in sectors of 32 bytes.
// Local memory has 32 banks of 4 bytes; a request takes as many passes as the bank with most different words. (NVIDIA,
// CUDA C++ Programming Guide, Compute Capabilities, "Global Memory" and "Shared Memory".) That lanes with 8 bytes are
// served by halves of the warp, and lanes with 16 by quarters, is an assumption.
//
// GPULAB_EXPLAIN_FILE names the file to which each launch adds a line of JSON. GPULAB_EXPLAIN_WARP: work-items of a
// warp. GPULAB_EXPLAIN_STEPS: requests of the first group that are written one by one.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stack>
#include <string>
#include <unordered_map>
#include <vector>

#include <oclgrind/Context.h>
#include <oclgrind/Plugin.h>

#include <oclgrind/Kernel.h>
#include <oclgrind/KernelInvocation.h>
#include <oclgrind/Memory.h>
#include <oclgrind/WorkGroup.h>
#include <oclgrind/WorkItem.h>

namespace {

using nlohmann::json;

std::size_t number_from(const char* variable, std::size_t otherwise) {
    const char* const text = std::getenv(variable);
    return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

constexpr std::size_t sector_bytes = 32, banks = 32, word_bytes = 4;
constexpr std::size_t widest = 16; // bytes that one instruction of a GPU moves for a lane
// Events of a group between two barriers. A kernel that does not end shall not take all memory.
constexpr std::size_t max_events = 4'000'000;

/// Where an instruction stands: the calls around it, then itself, each by its place in its function. Earlier is
/// smaller.
using Place = std::array<std::uint32_t, 4>;

enum class Kind { load, store, atomic, branch };

/// One thing that a work-item did.
struct Event {
    Place place;
    const llvm::Instruction* instruction;
    Kind kind;
    unsigned space;        // of memory
    std::size_t at, bytes; // of memory: address and width; of a branch: `at` is the side taken
};

/// What one instruction was asked for, over all warps.
struct Site {
    Kind kind = Kind::load;
    unsigned space = 0;
    std::size_t width = 0; // bytes for one lane
    std::uint64_t requests = 0, lanes = 0, splits = 0;
    std::uint64_t bytes = 0;                    // that the lanes asked for, each counted once in a request
    std::uint64_t sectors = 0, min_sectors = 0; // global
    std::uint64_t passes = 0, min_passes = 0;   // local
    std::uint64_t same = 0;                     // atomics: the most lanes of a request on one address, summed up
    std::uint64_t excess = 0;                   // of the request that `worst` shows
    std::vector<std::pair<std::size_t, std::size_t>>
        worst; // lanes and addresses of the request furthest from the least
};

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// The different pieces of `unit` bytes that the lanes touch.
std::set<std::size_t> pieces(const std::vector<const Event*>& lanes, std::size_t unit) {
    std::set<std::size_t> found;
    for (const Event* e : lanes)
        for (std::size_t piece = e->at / unit; piece <= (e->at + e->bytes - 1) / unit; ++piece) found.insert(piece);
    return found;
}

/// Passes of local memory. Lanes with 8 bytes are served by halves of the warp, lanes with 16 by quarters.
std::uint64_t passes_of(const std::vector<std::pair<std::size_t, const Event*>>& lanes, std::size_t warp) {
    const std::size_t bytes = lanes.front().second->bytes;
    const std::size_t together = bytes > 8 ? warp / 4 : bytes > 4 ? warp / 2 : warp;
    std::uint64_t passes = 0;
    for (std::size_t first = 0; first < warp; first += together) {
        std::array<std::set<std::size_t>, banks> words;
        for (const auto& [lane, e] : lanes)
            if (lane >= first && lane < first + together)
                for (std::size_t w = e->at / word_bytes; w <= (e->at + e->bytes - 1) / word_bytes; ++w)
                    words[w % banks].insert(w);
        passes += std::max_element(words.begin(), words.end(), [](const auto& a, const auto& b) {
                      return a.size() < b.size();
                  })->size();
    }
    return passes;
}

class Counts : public oclgrind::Plugin {
public:
    using Plugin::Plugin;

    bool isThreadSafe() const override { return false; } // Oclgrind then runs one group after the other

    void kernelBegin(const oclgrind::KernelInvocation*) override {
        sites_.clear();
        places_.clear();
        steps_ = json::array();
        groups_ = barriers_ = idle_ = warps_ = noted_ = executed_by_warps_ = executed_by_busiest_ = executed_by_all_ =
            0;
    }

    void workGroupBegin(const oclgrind::WorkGroup* group) override {
        const auto size = group->getGroupSize();
        events_.assign(size.x * size.y * size.z, {});
        touched_.assign(events_.size(), false);
        executed_.assign(events_.size(), 0);
        copied_ = 0;
        warps_ += ceil_div(events_.size(), warp_);
    }

    void memoryLoad(const oclgrind::Memory* memory, const oclgrind::WorkItem* item, std::size_t address,
                    std::size_t size) override {
        note(memory, item, Kind::load, address, size);
    }
    void memoryStore(const oclgrind::Memory* memory, const oclgrind::WorkItem* item, std::size_t address,
                     std::size_t size, const std::uint8_t*) override {
        note(memory, item, Kind::store, address, size);
    }
    void memoryAtomicLoad(const oclgrind::Memory* memory, const oclgrind::WorkItem* item, oclgrind::AtomicOp,
                          std::size_t address, std::size_t size) override {
        note(memory, item, Kind::atomic, address, size);
    }

    // async_work_group_copy(): element after element, which neighbouring items of the group move at the same time.
    // Their global side is counted, where the group waits for them.
    void memoryLoad(const oclgrind::Memory* memory, const oclgrind::WorkGroup* group, std::size_t address,
                    std::size_t size) override {
        copy(memory, group, Kind::load, address, size);
    }
    void memoryStore(const oclgrind::Memory* memory, const oclgrind::WorkGroup* group, std::size_t address,
                     std::size_t size, const std::uint8_t*) override {
        copy(memory, group, Kind::store, address, size);
    }

    void instructionExecuted(const oclgrind::WorkItem* item, const llvm::Instruction* instruction,
                             const oclgrind::TypedValue&) override {
        ++executed_[index_of(item)];
        if (!instruction->isTerminator()) return;
        std::size_t side = 0;
        const auto* branch = llvm::dyn_cast<llvm::BranchInst>(instruction);
        if (branch && branch->isConditional()) side = item->getOperand(branch->getCondition()).getUInt() != 0;
        if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(instruction))
            side = item->getOperand(choice->getCondition()).getUInt();
        if (has_room())
            events_[index_of(item)].push_back({place_of(item, instruction), instruction, Kind::branch, 0, side, 0});
    }

    void workGroupBarrier(const oclgrind::WorkGroup*, std::uint32_t) override {
        ++barriers_;
        replay();
    }

    void workGroupComplete(const oclgrind::WorkGroup*) override {
        replay();
        ++groups_;
        idle_ += std::count(touched_.begin(), touched_.end(), false);
        for (std::size_t first = 0; first < executed_.size(); first += warp_)
            executed_by_warps_ += *std::max_element(executed_.begin() + first,
                                                    executed_.begin() + std::min(first + warp_, executed_.size()));
        executed_by_busiest_ += *std::max_element(executed_.begin(), executed_.end());
        executed_by_all_ += std::accumulate(executed_.begin(), executed_.end(), std::uint64_t{0});
    }

    void kernelEnd(const oclgrind::KernelInvocation* launch) override {
        const auto local = launch->getLocalSize(), global = launch->getGlobalSize();
        json kernel = {{"kernel", launch->getKernel()->getName()},
                       {"group", {local.x, local.y, local.z}},
                       {"items", {global.x, global.y, global.z}},
                       {"groups", groups_},
                       {"warps", warps_},
                       {"barriers", barriers_},
                       {"idle", idle_},
                       {"executed", {executed_by_warps_, executed_by_busiest_, executed_by_all_}},
                       {"whole", noted_ <= max_events},
                       {"sites", json::array()},
                       {"arrays", arrays_of(*launch->getKernel())},
                       {"steps", steps_}};
        for (const auto& [what, s] : sites_) {
            const auto* const instruction = what.first;
            const auto& where = instruction->getDebugLoc();
            if (!s.requests) continue;
            if (s.kind == Kind::branch && instruction->getNumSuccessors() < 2) continue; // only a way to the next line
            // A function may be compiled without places: its accesses count, in line 0.
            const auto* scope = where ? llvm::cast<llvm::DIScope>(where.getScope()) : nullptr;
            kernel["sites"].push_back({{"file", scope ? scope->getFilename().str() : ""},
                                       {"line", where ? where.getLine() : 0},
                                       {"kind", name(s.kind)},
                                       {"space", name(s.space)},
                                       {"requests", s.requests},
                                       {"lanes", s.lanes},
                                       {"splits", s.splits},
                                       {"bytes", s.bytes},
                                       {"sectors", s.sectors},
                                       {"min_sectors", s.min_sectors},
                                       {"passes", s.passes},
                                       {"min_passes", s.min_passes},
                                       {"same", s.same},
                                       {"width", s.width},
                                       {"excess", s.excess},
                                       {"worst", s.worst}});
        }
        std::ofstream(std::getenv("GPULAB_EXPLAIN_FILE"), std::ios::app) << kernel << '\n';
    }

private:
    static const char* name(Kind kind) {
        return std::array{"load", "store", "atomic", "branch"}[static_cast<std::size_t>(kind)];
    }
    static const char* name(unsigned space) {
        return space == oclgrind::AddrSpaceLocal      ? "local"
               : space == oclgrind::AddrSpaceConstant ? "constant"
                                                      : "global";
    }

    std::size_t index_of(const oclgrind::WorkItem* item) const {
        const auto at = item->getLocalID(), size = item->getWorkGroup()->getGroupSize();
        return at.x + size.x * (at.y + size.y * at.z);
    }

    /// The place of an instruction in its function, from 1, in the order in which the compiler laid them out.
    std::uint32_t number_of(const llvm::Instruction* instruction) {
        const auto known = places_.find(instruction);
        if (known != places_.end()) return known->second;
        std::uint32_t next = 0;
        for (const llvm::BasicBlock& block : *instruction->getFunction())
            for (const llvm::Instruction& one : block) places_[&one] = ++next;
        return places_[instruction];
    }

    Place place_of(const oclgrind::WorkItem* item, const llvm::Instruction* instruction) {
        Place place{};
        auto calls = item->getCallStack();
        std::size_t depth = std::min(calls.size(), place.size() - 1);
        place[depth] = number_of(instruction);
        for (; calls.size() > depth; calls.pop()) {
        }
        for (; depth > 0; calls.pop()) place[--depth] = number_of(calls.top());
        return place;
    }

    void note(const oclgrind::Memory* memory, const oclgrind::WorkItem* item, Kind kind, std::size_t address,
              std::size_t size) {
        if (!item || memory->getAddressSpace() == oclgrind::AddrSpacePrivate) return;
        const llvm::Instruction* const instruction = item->getCurrentInstruction();
        const auto* const call = llvm::dyn_cast<llvm::CallInst>(instruction);
        if (call && call->getCalledOperand()->getName().str() == "printf") return; // it reads its text
        const std::size_t me = index_of(item);
        touched_[me] = true;
        Place place = place_of(item, instruction);
        // Vectors may be wider than the hardware's.
        for (std::size_t done = 0; done < size && has_room(); done += widest, ++place.back())
            events_[me].push_back({place, instruction, kind, unsigned(memory->getAddressSpace()), address + done,
                                   std::min(widest, size - done)});
    }

    void copy(const oclgrind::Memory* memory, const oclgrind::WorkGroup* group, Kind kind, std::size_t address,
              std::size_t size) {
        if (memory->getAddressSpace() == oclgrind::AddrSpaceLocal || !has_room()) return;
        const llvm::Instruction* const waits = group->getWorkItem({0, 0, 0})->getCurrentInstruction();
        const std::size_t moved = copied_++;
        const auto round = std::uint32_t(moved / events_.size());
        events_[moved % events_.size()].push_back(
            {{0, 0, 0, round}, waits, kind, unsigned(memory->getAddressSpace()), address, size});
    }

    /// Whether one more event can be noted. If not, the launch is not counted.
    bool has_room() { return ++noted_ <= max_events; }

    /// Runs the events since the last barrier as the warps of a GPU would.
    void replay() {
        if (noted_ <= max_events) noted_ = 0;
        for (std::size_t first = 0; first < events_.size(); first += warp_) {
            const std::size_t lanes = std::min(warp_, events_.size() - first);
            std::vector<std::size_t> next(lanes, 0);
            std::vector<std::pair<std::size_t, const Event*>> together;
            for (;;) {
                const Event* earliest = nullptr;
                for (std::size_t lane = 0; lane < lanes; ++lane)
                    if (next[lane] < events_[first + lane].size()) {
                        const Event& e = events_[first + lane][next[lane]];
                        if (!earliest || e.place < earliest->place) earliest = &e;
                    }
                if (!earliest) break;
                together.clear();
                for (std::size_t lane = 0; lane < lanes; ++lane)
                    if (next[lane] < events_[first + lane].size()) {
                        const Event& e = events_[first + lane][next[lane]];
                        if (e.place == earliest->place && e.instruction == earliest->instruction) {
                            together.emplace_back(lane, &e);
                            ++next[lane];
                        }
                    }
                count(first / warp_, together);
            }
        }
        for (auto& list : events_) list.clear();
    }

    void count(std::size_t warp, const std::vector<std::pair<std::size_t, const Event*>>& together) {
        const Event& e = *together.front().second;
        Site& s = sites_[{e.instruction, e.kind == Kind::branch}];
        s.kind = e.kind;
        s.space = e.space;
        s.width = e.bytes;
        ++s.requests;
        s.lanes += together.size();
        if (e.kind == Kind::branch) {
            s.splits +=
                std::any_of(together.begin(), together.end(), [&](const auto& l) { return l.second->at != e.at; });
            return;
        }
        std::vector<const Event*> lanes;
        for (const auto& [lane, event] : together) lanes.push_back(event);
        const std::size_t bytes = pieces(lanes, 1).size();
        s.bytes += bytes;
        const bool local = e.space == oclgrind::AddrSpaceLocal;
        const std::uint64_t took = local ? passes_of(together, warp_) : pieces(lanes, sector_bytes).size();
        const std::uint64_t least = ceil_div(bytes, local ? banks * word_bytes : sector_bytes);
        (local ? s.passes : s.sectors) += took;
        (local ? s.min_passes : s.min_sectors) += least;
        if (s.worst.empty() || took - least > s.excess) {
            s.excess = took - least;
            s.worst.clear();
            for (const auto& [lane, event] : together) s.worst.emplace_back(lane, event->at);
        }
        if (e.kind == Kind::atomic) {
            std::map<std::size_t, std::uint64_t> on;
            for (const Event* lane : lanes) ++on[lane->at];
            s.same +=
                std::max_element(on.begin(), on.end(), [](auto& a, auto& b) { return a.second < b.second; })->second;
        }
        if (groups_ == 0 && steps_.size() < max_steps_ && e.instruction->getDebugLoc()) {
            json step = {{"warp", warp},         {"line", e.instruction->getDebugLoc().getLine()},
                         {"kind", name(e.kind)}, {"space", name(e.space)},
                         {"bytes", e.bytes},     {"lanes", json::array()}};
            for (const auto& [lane, event] : together) step["lanes"].push_back({lane, event->at});
            steps_.push_back(step);
        }
    }

    /// The arrays among the arguments: their names and where they begin.
    static json arrays_of(const oclgrind::Kernel& kernel) {
        json arrays = json::array();
        for (auto value = kernel.values_begin(); value != kernel.values_end(); ++value) {
            const auto* argument = llvm::dyn_cast<llvm::Argument>(value->first);
            if (argument && argument->getType()->isPointerTy() && value->second.size == sizeof(std::size_t) &&
                value->second.data)
                arrays.push_back({{"name", kernel.getArgumentName(argument->getArgNo()).str()},
                                  {"space", name(argument->getType()->getPointerAddressSpace())},
                                  {"at", value->second.getPointer()}});
        }
        return arrays;
    }

    const std::size_t warp_ = number_from("GPULAB_EXPLAIN_WARP", 32),
                      max_steps_ = number_from("GPULAB_EXPLAIN_STEPS", 0);
    std::map<std::pair<const llvm::Instruction*, bool>, Site> sites_; // of memory, and (true) of branches
    std::unordered_map<const llvm::Instruction*, std::uint32_t> places_;
    std::vector<std::vector<Event>> events_; // of each work-item of the group, since the last barrier
    std::vector<bool> touched_;              // memory, by work-item
    std::vector<std::uint64_t> executed_;    // instructions, by work-item
    std::size_t copied_ = 0;                 // elements, by asynchronous copies of the group
    std::uint64_t executed_by_warps_ = 0, executed_by_busiest_ = 0, executed_by_all_ = 0;
    json steps_;
    std::uint64_t groups_ = 0, warps_ = 0, barriers_ = 0, idle_ = 0;
    std::uint64_t noted_ = 0; // events since the last barrier; where they were too many, since then
};

Counts* plugin = nullptr;

} // namespace

extern "C" void initializePlugins(oclgrind::Context* context) {
    if (std::getenv("GPULAB_EXPLAIN_FILE")) context->registerPlugin(plugin = new Counts(context));
}

extern "C" void releasePlugins(oclgrind::Context* context) {
    if (plugin) context->unregisterPlugin(plugin);
    delete plugin;
    plugin = nullptr;
}
