/// @file
/// What happens before what: the causality order of the PTX ISA ("Memory Consistency Model"), as far as it decides
/// whether two accesses race.
///
/// Each block has a clock that goes on whenever one of its threads synchronises. An access is stamped with block,
/// thread and time. Another thread knows of it when a barrier, or a release that it acquired, lies between:
///
/// - bar.sync orders the threads of a block, bar.warp.sync those of its mask. shfl, vote and match order nothing: they
///   exchange registers ("__syncwarp() ... guarantees memory ordering"; the other intrinsics "do not imply a memory
///   barrier": CUDA C++ Programming Guide).
/// - A release is st.release, atom.release, or a fence followed by a strong store or an atomic operation of the same
///   thread; an acquire is ld.acquire, atom.acquire, or a strong load or an atomic operation followed by a fence. An
///   atomic operation passes on what was released to its address before.
/// - bar.sync also serves as the fence of an acquire, as NVIDIA's own example threadFenceReduction has it: one thread
///   draws a ticket, and behind the barrier its block reads what others wrote.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace cuda_emulator {

using Time = std::uint32_t; ///< of a block's clock

/// When a thread did something.
struct Stamp {
    std::uint32_t block;  ///< number in the grid
    std::uint16_t thread; ///< number in the block
    Time time;
};

/// A release: who acquires it knows all that its thread knew. Or one that stands for several, and has times of 0.
struct Release {
    std::uint32_t block, thread;
    Time time;                               ///< accesses of the thread before this time
    Time of_block, of_warp;                  ///< accesses of all threads of its block, or of its warp, before this time
    std::array<const Release*, 3> earlier{}; ///< what the thread had acquired
    std::uint64_t series = 0, place = 0; ///< of those that stand for several: each knows all before it in its series
};

/// The releases of a launch, by the address to which they were made.
class Releases {
public:
    const Release* at(std::uint64_t address);
    /// @param goes_on whether what was released to the address before stays known, as behind an atomic operation
    void put(std::uint64_t address, const Release* release, bool goes_on);
    const Release* add(const Release& release);
    bool any() const { return any_; }

private:
    std::mutex lock_;
    std::unordered_map<std::uint64_t, const Release*> at_;
    std::deque<Release> all_;
    std::atomic<bool> any_{false};
};

/// The order of the accesses of one block. One host thread at a time runs a block.
class BlockOrder {
public:
    BlockOrder(Releases& releases, std::uint32_t block, unsigned threads);

    Time now() const { return now_; }

    /// Whether a thread of this block knows of an access.
    bool knows(unsigned thread, const Stamp& other) {
        if (other.block == block_) {
            if (other.thread == thread || other.time < floor_) return true;
            if (other.thread / 32 == thread / 32 && other.time < warps_[thread / 32].floor) return true;
        }
        return irregular_ && knows_by_other_ways(thread, other);
    }

    /// bar.sync of all threads of the block that have not ended.
    void barrier();
    /// bar.sync of some warps. @param arrived by warp, the lanes that came @param leaving those of them that wait
    void barrier(const std::vector<std::uint32_t>& arrived, const std::vector<std::uint32_t>& leaving);
    /// bar.warp.sync. @param lanes of those that have not ended @param live all of the warp that have not ended
    void warp_sync(unsigned warp, std::uint32_t lanes, std::uint32_t live);
    /// barrier.cluster: orders all threads of these blocks.
    static void cluster_barrier(Releases& releases, const std::vector<BlockOrder*>& blocks);
    void fence(unsigned warp, std::uint32_t lanes);

    /// A weak access of some lanes to memory that other blocks can see.
    void weak_access(unsigned warp, std::uint32_t lanes) { warps_[warp].unfenced |= lanes; }
    /// A strong load, or the loading half of an atomic operation, after it was done.
    void strong_load(unsigned thread, std::uint64_t address, bool acquires);
    /// A strong store, or the storing half of an atomic operation, before it is done.
    void strong_store(unsigned thread, std::uint64_t address, bool releases, bool atomic);

private:
    /// What is known through releases of others.
    struct Known {
        const Release *head = nullptr, *merged = nullptr;
        std::unordered_map<std::uint64_t, Time> times; // of a thread, a warp or a block: accesses before are known
        std::unordered_map<std::uint64_t, std::uint64_t> series; // how far they are known

        Time& of_block(std::uint32_t block) { return times[std::uint64_t{block} << 12]; }
        Time& of_warp(std::uint32_t block, unsigned warp) { return times[std::uint64_t{block} << 12 | (1 + warp)]; }
        Time& of_thread(std::uint32_t block, unsigned t) { return times[std::uint64_t{block} << 12 | (64 + t)]; }
        Time time_of(std::uint64_t key) const;
        bool has(std::uint32_t block, unsigned thread, Time time) const; // all before `time`
        void merge();
    };
    struct Fence { // the last of a thread
        Time time = 0, of_block = 0, of_warp = 0;
    };
    struct Thread {
        Known known;
        const Release* pending = nullptr; // read by a strong load, with no fence so far
        Fence fence;
    };
    using Matrix = std::array<std::array<Time, 32>, 32>; // [me][other]: accesses of the other before are known
    struct Warp {
        Time floor = 0;
        std::uint32_t unfenced = ~0u;
        std::unique_ptr<Matrix> lanes; // once a part of the warp has synchronised
        std::unique_ptr<Known> known;
    };

    bool knows_by_other_ways(unsigned thread, const Stamp& other);
    Thread& thread(unsigned t);
    const Release* join(const Release* a, const Release* b, std::uint64_t series = 0);
    std::uint64_t series_of(unsigned number) const;
    const Release* released(unsigned thread, const Fence& fence);
    void acquire(unsigned thread, const Release* release);
    const Release* collect(unsigned warp, std::uint32_t lanes, bool with_pending, bool reset);

    Releases& releases_;
    std::uint32_t block_;
    Time now_ = 1, floor_ = 1;
    Time fenced_ = 1; // accesses of all threads of the block before this time have been followed by fences
    bool irregular_ = false;
    Known known_;
    std::vector<Warp> warps_;
    unsigned size_;
    std::vector<std::unique_ptr<Thread>> threads_; // empty until one is needed
};

} // namespace cuda_emulator
