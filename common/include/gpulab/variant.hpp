/// @file
/// The variant table: one row per rung of a lab's ladder. It drives --list, the benchmark loop and the tests.
#pragma once

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

/// The least a device must offer for a variant to run on it.
struct Needs {
    int compute_capability = 0; ///< CUDA: 10 * major + minor, 80 for an A100; 0 when any will do
    bool fp64 = false;          ///< double precision arithmetic
};

/// One rung: a plain function from host data to host data, and what there is to say about it.
/// @tparam Run the lab's function type, `void(const Problem&, Output&, Stopwatch&)`
template <class Run> struct Variant {
    std::string_view name;    ///< unique in the lab and prefixed with its back end: "cuda_many_blocks"
    std::string_view summary; ///< one line: what this rung changed
    Backend backend;
    Run* run; ///< nullptr when this build leaves the back end out
    Needs needs = {};
    bool baseline = false; ///< a vendor library, here to be measured against
};

} // namespace gpulab

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
