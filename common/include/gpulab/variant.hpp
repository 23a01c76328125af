/// @file
/// The variant table: one row per rung of a lab's ladder. It drives --list, the benchmark loop and the tests.
#pragma once

#include <cstddef>
#include <string_view>

namespace gpulab {

/// What a variant runs on.
enum class Backend { cpu, opencl, cuda };

/// The name a user types: "cpu", "opencl" or "cuda".
constexpr std::string_view name_of(Backend backend) {
    switch (backend) {
    case Backend::cpu: return "cpu";
    case Backend::opencl: return "opencl";
    case Backend::cuda: return "cuda";
    }
    return "?";
}

/// The least that devices must offer for a variant to run on them.
struct Needs {
    int compute_capability = 0;      ///< CUDA: 10 * major + minor, 80 for an A100; 0 when any will do
    bool fp64 = false;               ///< double precision arithmetic
    bool cooperative_launch = false; ///< CUDA: a launch whose blocks all run at once and can wait for each other
    bool gpu = false;                ///< CUDA: what the emulator does not have, such as wgmma or a vendor's library
    std::size_t devices = 1;         ///< how many devices of its back end the variant uses at a time; at least 1
};

/// One rung: a plain function from host data to host data, and its description.
/// @tparam Run the lab's function type, `void(const Problem&, Output&, Stopwatch&)`
template <class Run> struct Variant {
    std::string_view name;    ///< unique in the lab and prefixed with its back end: "cuda_many_blocks"
    std::string_view summary; ///< one line: what this rung changed
    Backend backend;
    Run* run; ///< nullptr when this build leaves the back end out
    Needs needs = {};
    bool baseline = false;             ///< a vendor library, for comparison
    std::string_view slow_on_cpu = {}; ///< OpenCL: why it is slow where the device is a CPU
};

/// Variant::slow_on_cpu of what has barriers.
inline constexpr std::string_view barriers_on_cpu =
    "slow on a CPU: at each barrier a core runs through all items of the group, and local memory is ordinary memory";

namespace detail {
[[noreturn]] void no_variant_called(std::string_view name); // throws
}

/// The function of the variant that a table has under this name: `run_of(variants(), "cpu_sequential")`.
/// @return nullptr when this build leaves its back end out @throws Error when the table has no such name
template <class Table> auto run_of(const Table& table, std::string_view name) {
    for (const auto& variant : table)
        if (variant.name == name) return variant.run;
    detail::no_variant_called(name);
}

} // namespace gpulab

// A lab lists its rungs in rungs.inc, a line for each:
//
//     CUDA_RUNG(cuda_many_blocks, "one thread per element, any n")
//     CUDA_RUNG(cuda_tensor_pivot, "the update on FP64 tensor cores", .needs = {.compute_capability = 80})
//
// name, summary and, where they apply, further members of Variant. Two files include rungs.inc, each with its own RUNG
// in front: in the lab's rungs.hpp a line declares the function, in the table it becomes a row.

/// A line of rungs.inc for a rung on the CPU.
#define CPU_RUNG(function, ...) RUNG(cpu, GPULAB_IF_CPU, function, __VA_ARGS__)
/// A line of rungs.inc for a rung in OpenCL.
#define OPENCL_RUNG(function, ...) RUNG(opencl, GPULAB_IF_OPENCL, function, __VA_ARGS__)
/// A line of rungs.inc for a rung in CUDA.
#define CUDA_RUNG(function, ...) RUNG(cuda, GPULAB_IF_CUDA, function, __VA_ARGS__)

/// A row of a variant table. `pointer` is to the function itself, or to its instance: `cuda_grid<T>`.
#define GPULAB_ROW(of, pointer, function, text, ...) \
    {.name = #function, .summary = text, .backend = gpulab::Backend::of, .run = pointer __VA_OPT__(, ) __VA_ARGS__},

/// In a variant table: the function, because every build has the CPU.
#define GPULAB_IF_CPU(function) (function)

/// In a variant table: the function where this build has CUDA, nullptr where it has not.
#if defined(GPULAB_WITH_CUDA)
#define GPULAB_IF_CUDA(function) (function)
#else
#define GPULAB_IF_CUDA(function) nullptr
#endif

/// In a variant table: the function where this build has OpenCL, nullptr where it has not.
#if defined(GPULAB_WITH_OPENCL)
#define GPULAB_IF_OPENCL(function) (function)
#else
#define GPULAB_IF_OPENCL(function) nullptr
#endif

/// Compiles a rung for float and double, in a lab whose Problem and Output are templates; it stands behind the rung's
/// definition, in the lab's namespace.
#define INSTANTIATE_RUNG(rung)                                             \
    template void rung(const Problem<float>&, Output<float>&, Stopwatch&); \
    template void rung(const Problem<double>&, Output<double>&, Stopwatch&)
