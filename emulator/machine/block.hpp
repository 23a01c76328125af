#pragma once
#include "machine/warp.hpp"
#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <random>

namespace cuda_emulator {

/// What all blocks of a launch share.
struct Grid {
    const Launch& launch;
    Memory& memory;
    Observer* observer = nullptr;
    std::byte* arguments = nullptr; ///< in the arena
    std::uint64_t workspace = 0;    ///< of a cooperative launch: what grid.sync() counts in
    /// Grows as long as anything but polling happens, in any launch: kernels of several streams may wait for each
    /// other.
    inline static std::atomic<std::uint64_t> progress{0};
    std::mutex atomics{}; ///< see Warp::in_order()
    std::atomic<std::uint64_t> instructions{0};
    std::atomic<bool> failed{false};
    std::atomic<bool> waits_for_host{false}; ///< polls memory that the host may write, so no wait counts as a deadlock
    /// For each host thread: 1 + the progress at which it has polled in vain for long; 0 at work; ~0 has no blocks.
    std::vector<std::atomic<std::uint64_t>> stuck_at{};
};

/// A barrier of a block (PTX ISA 9.7.13.1).
struct Barrier {
    unsigned expected = 0;             ///< threads; 0: all of the block
    unsigned arrived = 0;              ///< threads, waiting or not
    std::vector<Mask> waiting, passed; ///< per warp: of bar.sync, of bar.arrive
    bool any = false, all = true;      ///< of the predicates of bar.red, and their number
    unsigned count = 0;
    const Instruction *first = nullptr, *other = nullptr; ///< where threads arrived, if at two places
};

class Block;

/// Blocks that one host thread runs in turns, so that they may use each other's shared memory.
struct Cluster {
    std::vector<std::unique_ptr<Block>> blocks;
    /// Bulk copies under way: each arrives when somebody waits at its mbarrier, the latest that the ISA allows.
    struct BulkCopy {
        std::byte* to;
        const std::byte* from;
        std::size_t bytes;
        std::byte* barrier;
    };
    std::vector<BulkCopy> copies;
    /// barrier.cluster: completes if all living threads have arrived. `instruction` is the last that came.
    void complete_if_all_came(const Instruction& instruction);
};

/// A block of threads: its warps take turns.
class Block : public BlockView {
public:
    explicit Block(Grid& grid);
    /// Makes it the block of this number, at its beginning.
    void begin(std::uint64_t number, Cluster* cluster);
    void started(); ///< tells the observer

    enum class Slice { ended, waits, sleeps, ran };
    /// Runs until the block has ended or only waits; with an order, for a few rounds only.
    Slice run(std::minstd_rand* order);

    /// Lanes come to a barrier; those of bar.sync and bar.red wait. `expected` 0: all threads.
    void arrive(Warp& warp, Mask mask, unsigned id, unsigned expected, bool waits, const Instruction& instruction);
    void thread_exits(unsigned count);
    [[noreturn]] void deadlock();

    Grid& grid;
    Cluster* cluster = nullptr;
    std::array<Barrier, 16> barriers;
    unsigned exited = 0;                             ///< threads
    const Instruction* at_cluster_barrier = nullptr; ///< the last barrier.cluster.arrive
    const std::vector<std::unique_ptr<Warp>>& all_warps() const { return warps_; }

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    using Bytes = std::unique_ptr<std::byte, Free>;

    Slice finish();
    bool has_group(Group::State state) const;
    bool came_all(const Barrier& barrier) const;
    void complete(unsigned id, const Instruction* last);
    std::uint32_t special(Special special, unsigned warp, unsigned lane) const;

    std::size_t register_bytes_ = 0, local_bytes_ = 0; ///< per warp
    Bytes registers_, locals_, shared_memory_;
    std::vector<std::unique_ptr<Warp>> warps_;
    std::vector<WarpView*> views_;
    std::vector<unsigned> turns_; ///< numbers of warps, in the order of a round
};

/// Writes the result of bar.red to the lanes of a group that waited for it.
void finish_reduction(Warp& warp, const Group& group, const Barrier& barrier);

} // namespace cuda_emulator
