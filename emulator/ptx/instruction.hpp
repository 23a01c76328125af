#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuda_emulator {

using Mask = std::uint32_t; ///< a bit for each lane of a warp
inline constexpr Mask all_lanes = 0xffffffffu;

/// Where an instruction comes from. Lines count from 1; 0 where the PTX has no .loc (compiled without -lineinfo).
struct Location {
    const std::string* file = nullptr; ///< null without .loc
    unsigned line = 0, column = 0;
    const Location* inlined_at = nullptr; ///< the call that the compiler replaced by the function's text
    /// The line in the outermost function: the kernel's own line, where a reader looks first.
    const Location& outermost() const { return inlined_at ? inlined_at->outermost() : *this; }
};

/// What nobody needs while an instruction runs.
struct Detail {
    std::string text;      ///< as in the PTX, without guard: "ld.global.f32 %f1, [%rd4]"
    std::string opcode;    ///< "ld.global.f32"
    std::string function;  ///< mangled name of the kernel or device function that it stands in
    unsigned ptx_line = 0; ///< in the PTX text
    Location location;
};

/// Where 32 values of a register or a constant begin: bytes from the warp's registers or the kernel's constants.
struct Operand {
    static constexpr std::uint32_t none = 0xffffffffu, constant_bit = 0x80000000u;
    std::uint32_t code = none;
    bool exists() const { return code != none; }
    bool constant() const { return code & constant_bit; }
    std::uint32_t offset() const { return code & ~constant_bit; }
};

/// Special registers that stay the same as long as a thread lives (PTX ISA 10); others are instructions of their own.
enum class Special : std::uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    clusterid_x,
    clusterid_y,
    clusterid_z,
    nclusterid_x,
    nclusterid_y,
    nclusterid_z,
    cluster_ctaid_x,
    cluster_ctaid_y,
    cluster_ctaid_z,
    cluster_nctaid_x,
    cluster_nctaid_y,
    cluster_nctaid_z,
    cluster_ctarank,
    cluster_nctarank,
    is_explicit_cluster,
    total_smem_size,
    dynamic_smem_size,
    aggr_smem_size,
    envreg1,
    envreg2
};

class Warp;
struct Instruction;
/// Runs an instruction for the lanes of the mask.
using Handler = void (*)(Warp&, const Instruction&, Mask);

/// An instruction, decoded.
struct Instruction {
    Handler execute = nullptr;
    const Operand* operands = nullptr; ///< destinations first, as in the text
    std::int64_t immediate = 0;        ///< byte offset of an address, or what the handler wants to know
    Operand guard;                     ///< the predicate of @p or @!p
    bool guard_negated = false;
    static constexpr std::uint8_t address32 = 1, in_local = 2, may_jump = 4;
    std::uint8_t flags = 0; ///< of these: the address is in a 32-bit register, is a name in local memory; control flow
    std::uint16_t modifiers = 0; ///< for the handler's own use
    std::uint32_t target = 0;    ///< of a branch or call
    std::uint32_t index = 0;     ///< in Kernel::instructions: "the place in the text"
    const Detail* detail = nullptr;
};

} // namespace cuda_emulator
