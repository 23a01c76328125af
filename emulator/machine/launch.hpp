#pragma once
#include "machine/observer.hpp"
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace cuda_emulator {

struct Kernel;
class Memory;

/// One launch of a kernel.
struct Launch {
    const Kernel* kernel = nullptr;
    Dim3 grid, block;
    Dim3 cluster;                     ///< 1, 1, 1 without clusters
    std::vector<std::byte> arguments; ///< Kernel::argument_bytes of them, each parameter at its offset
    std::size_t dynamic_shared_bytes = 0;
    bool cooperative = false; ///< all blocks are resident at once
    std::uint64_t grid_id = 1;
    /// The order of blocks and warps: 0 as they are numbered, each as far as it gets; otherwise drawn from this number.
    std::uint64_t seed = 0;
    unsigned host_threads = 0;       ///< 0: as many as the host has; 1: the same order every time
    unsigned multiprocessors = 132;  ///< %nsmid
    unsigned resident_blocks = 1024; ///< so many blocks at most are under way at once, unless cooperative
    /// Instructions that a warp may run before the launch counts as endless.
    std::uint64_t instruction_limit = default_instruction_limit();

    /// 2^26, or CUDA_EMULATOR_INSTRUCTIONS.
    static std::uint64_t default_instruction_limit();
};

/// What ends a launch: an access out of bounds, a deadlock, a trap, the limit of instructions, an assertion.
struct Fault : std::runtime_error {
    enum class Kind {
        illegal_address,
        misaligned_address,
        deadlock,
        endless,
        trap,
        assertion,
        launch_bounds,
        unsupported
    };
    Fault(Kind kind, const std::string& text, const std::string& kernel, const Instruction& instruction);
    Kind kind;
    std::string kernel;
    Dim3 block{0, 0, 0}, thread{0, 0, 0};
    const Instruction* instruction;
    std::string text; ///< what happened, without the place
    /// One line: place, what happened, kernel, block, thread, instruction.
    const char* what() const noexcept override;

private:
    mutable std::string whole_;
};

/// Statistics that cost nothing to keep.
struct LaunchResult {
    std::uint64_t warp_instructions = 0;
};

/// Runs a launch to its end. Blocks are spread over host threads. Throws Fault.
LaunchResult run(const Launch&, Memory&, Observer* = nullptr);

/// Where printf of a kernel goes; stdout unless set.
void set_printf_sink(std::function<void(const std::string&)>);

} // namespace cuda_emulator
