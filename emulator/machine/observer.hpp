#pragma once
#include "ptx/instruction.hpp"
#include <cstddef>
#include <cstdint>
#include <span>

namespace cuda_emulator {

struct Launch;
class Memory;

struct Dim3 {
    unsigned x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// A block, as an observer sees it.
struct BlockView {
    std::uint64_t index = 0; ///< linear in the grid
    Dim3 position{0, 0, 0};
    unsigned threads = 0, warps = 0;
    std::byte* shared = nullptr;
    std::size_t shared_bytes = 0; ///< static and dynamic
    unsigned cluster_rank = 0;
    void* state = nullptr; ///< the observer's own
};

/// A warp, as an observer sees it. Thread number in the block = 32 * index + lane.
struct WarpView {
    BlockView* block = nullptr;
    unsigned index = 0; ///< in the block
    Mask lanes = 0;     ///< lanes that are threads (the last warp of a block may have fewer)
    Mask exited = 0;
    void* state = nullptr; ///< the observer's own
};

enum class Space : std::uint8_t { global, shared, local, constant, parameter };
enum class AccessKind : std::uint8_t { load, store, atomic, reduction, async_copy, prefetch };
enum class Order : std::uint8_t { weak, is_volatile, relaxed, acquire, release, acq_rel };
enum class Scope : std::uint8_t { none, cta, cluster, gpu, system };

/// What a warp is about to do to memory. Nothing has been read or written yet.
struct Access {
    Space space = Space::global;
    AccessKind kind = AccessKind::load;
    Order order = Order::weak;
    Scope scope = Scope::none;
    unsigned bytes = 4;    ///< per lane, all elements of a vector together
    unsigned elements = 1; ///< of a vector
    Mask mask = 0;
    /// Of the lanes in the mask. Global: host addresses. Shared: bytes from the block's beginning (with the block's
    /// rank in the cluster plus one in the bits from 24 if it is another block's). Local: bytes from the thread's
    /// beginning.
    const std::uint64_t* addresses = nullptr;
    const Instruction* instruction = nullptr;
    bool reads() const { return kind != AccessKind::store && kind != AccessKind::prefetch; }
    bool writes() const {
        return kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::reduction;
    }
};

/// A barrier that has just let its threads go.
struct BarrierEvent {
    unsigned id = 0;                          ///< bar.sync id
    std::span<const Mask> waiting;            ///< per warp, the lanes that waited (bar.sync, bar.red)
    std::span<const Mask> arrived;            ///< per warp, the lanes that arrived without waiting (bar.arrive)
    unsigned exited = 0;                      ///< threads of the block that had ended and so never came
    bool all = true;                          ///< the barrier was for the whole block (no count given)
    const Instruction* instruction = nullptr; ///< of the last warp that came
    const Instruction* other =
        nullptr; ///< another bar.sync at which some of the threads waited; null if all were at one place
};

/// Sees what runs. Calls come from several host threads at once, but those for one block come one after another.
/// A call may throw a Fault, which ends the launch.
class Observer {
public:
    virtual ~Observer() = default;
    virtual void launch_begins(const Launch&, Memory&) {}
    virtual void launch_ends() {}
    /// warps: the block's warps, which stay where they are until block_ends.
    virtual void block_begins(BlockView&, std::span<WarpView* const> /*warps*/) {}
    virtual void block_ends(BlockView&) {}

    /// Before memory is touched. cp.async: one async_copy (the write of shared memory) after a load of global memory.
    virtual void access(WarpView&, const Access&) {}
    virtual void barrier(BlockView&, const BarrierEvent&) {}
    /// A barrier.sync.aligned (__syncthreads) that only some of the warp's living lanes execute together.
    virtual void split_barrier(WarpView&, Mask, const Instruction&) {}
    /// barrier.cluster: all blocks of the cluster have come.
    virtual void cluster_barrier(std::span<BlockView* const>, const Instruction&) {}
    /// bar.warp.sync, and what waits for lanes in the same way (shfl.sync, vote.sync, match.sync, redux.sync): the
    /// lanes have met. `members`: the membermask that the lanes gave; a lane outside its own mask is a fault of the
    /// program.
    virtual void warp_sync(WarpView&, Mask /*lanes*/, Mask /*members*/, const Instruction&) {}
    virtual void fence(WarpView&, Mask, Scope, const Instruction&) {}
    /// cp.async.wait_group / wait_all: the lanes' copies are there.
    virtual void async_wait(WarpView&, Mask, const Instruction&) {}
    /// shfl.sync that reads from lane `source` which is not active or not in the mask; `lane` gets an undefined value.
    virtual void bad_shuffle(WarpView&, unsigned /*lane*/, unsigned /*source*/, const Instruction&) {}
    /// A conditional branch: lanes that jump, lanes that go on.
    virtual void branch(WarpView&, Mask /*taken*/, Mask /*not_taken*/, const Instruction&) {}
    /// Every instruction, if wants_instructions.
    virtual void instruction(WarpView&, Mask, const Instruction&) {}
    bool wants_instructions = false;
};

} // namespace cuda_emulator
