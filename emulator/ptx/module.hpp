#pragma once
#include "ptx/instruction.hpp"
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace cuda_emulator {

class Memory;

/// PTX that cannot be read or uses what the emulator does not have; one line, names instruction, kernel and line.
struct PtxError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A parameter of a kernel: its place in the argument bytes.
struct Parameter {
    std::string name;
    std::size_t offset = 0, size = 0, align = 1;
};

/// A kernel, decoded: what Launch runs. Device functions that it calls are part of its instructions.
struct Kernel {
    std::string name; ///< mangled, as in the PTX
    std::vector<Parameter> parameters;
    std::size_t argument_bytes = 0;
    std::size_t shared_bytes = 0;      ///< static shared memory; dynamic shared memory lies behind it
    std::size_t local_bytes = 0;       ///< per thread
    std::size_t constant_bytes = 0;    ///< of the module's __constant__ variables
    std::size_t virtual_registers = 0; ///< declared in the PTX; ptxas needs fewer
    unsigned maxntid[3] = {0, 0, 0};   ///< .maxntid (__launch_bounds__), 0 if not given
    unsigned reqntid[3] = {0, 0, 0};
    unsigned minnctapersm = 0, maxnreg = 0;
    unsigned reqnctapercluster[3] = {0, 0, 0};
    std::vector<Instruction> instructions; ///< functions first, the kernel last; begins at `entry`
    std::size_t entry = 0;

    // What the machine needs beside the instructions.
    std::size_t register_bytes = 0;       ///< per warp
    std::vector<std::uint64_t> constants; ///< immediates, 32 lanes each, at the offsets that operands name
    std::vector<std::pair<Special, std::uint32_t>>
        specials;                  ///< special registers used, and the register that holds each
    std::vector<Operand> operands; ///< of all instructions
    std::deque<Detail> details;
    std::deque<Location> locations;
};

/// A __device__ or __constant__ variable.
struct Variable {
    std::string name;
    void* address = nullptr;
    std::size_t size = 0;
    bool constant = false;
};

/// A PTX text. Opening it finds kernels and variables only; a kernel is decoded when it is first asked for.
class Module {
public:
    /// Variables are placed in `memory`, with their initial values. Throws PtxError.
    Module(std::string text, Memory& memory);
    ~Module();

    std::vector<std::string> kernels() const; ///< mangled names
    /// Decoded at the first call; any thread may ask. Throws PtxError, also if there is none of this name.
    const Kernel& kernel(const std::string& name) const;
    const Variable* variable(const std::string& name) const; ///< null if there is none
    const std::vector<Variable>& variables() const;
    int target() const; ///< 80 for sm_80

    struct Text;

private:
    std::unique_ptr<Text> text_;
};

} // namespace cuda_emulator
