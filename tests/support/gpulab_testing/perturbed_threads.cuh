/// @file
/// Lets warps and blocks of a launch be late, and blocks have another order, to see whether a kernel relies on what
/// CUDA does not promise: a missing barrier does no harm as long as all warps run at the same pace.
///
/// A file of tests includes first all headers that a rung needs but which are not its own, then this one, and then the
/// rung, whose words mean something else from here on:
///
///     #include "gpulab_testing/perturbed_threads.cuh"
///     namespace perturbed { using namespace reduction; }
///     #define reduction perturbed // a second copy of the rung, beside that of the lab's library
///     #include "cuda/scan_03_look_back.cu"
///     #undef reduction
///
/// Behind each barrier, before each load by __ldcg() and where it asks for its number, a late thread waits. Nothing of
/// this can be seen in the rung itself.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "gpulab/cuda/check.hpp"

namespace gpulab::testing {

/// Which threads are late: those of one warp, or of all, in every `period`-th block.
struct LateThreads {
    static constexpr unsigned all = 0xFFFFFFFFu, none = 0xFFFFFFFEu;
    unsigned warp = none; ///< its number in the block, `all` or `none`
    unsigned period = 1;  ///< late are the blocks whose number leaves `remainder` when it is divided by this
    unsigned remainder = 0;
    bool reversed = false; ///< whether blocks are numbered against the order in which they start
};

namespace {
__device__ LateThreads perturbed_threads; // each file has its own

/// Makes threads late from now on.
inline void set_perturbed(const LateThreads& late) {
    CUDA_CHECK(cudaMemcpyToSymbol(perturbed_threads, &late, sizeof late));
}

__device__ inline uint3 number_of_block() {
    if (!perturbed_threads.reversed) return blockIdx;
    return {gridDim.x - 1 - blockIdx.x, gridDim.y - 1 - blockIdx.y, gridDim.z - 1 - blockIdx.z};
}

/// A late thread waits here for about 0.1 ms, longer than the others need to the next barrier. Inlined: as a function
/// that is called it changed registers of the kernels of lab 09 (nvcc 13.0 for sm_90: loops ran beyond their end).
__device__ __forceinline__ void be_perturbed() {
    const unsigned warp = (threadIdx.y * blockDim.x + threadIdx.x) / 32, block = blockIdx.y * gridDim.x + blockIdx.x;
    const LateThreads& late = perturbed_threads;
    if (late.warp != LateThreads::all && late.warp != warp) return;
    if (block % late.period != late.remainder) return;
    for (const long long begin = clock64(); clock64() - begin < 200'000;) {
    }
    asm volatile("" ::: "memory"); // what is loaded after it is not loaded before
}

__device__ inline uint3 late_number_of_block() {
    be_perturbed();
    return number_of_block();
}
} // namespace

} // namespace gpulab::testing

// A macro is not replaced within itself: these call what they hide.
#define __syncthreads() (__syncthreads(), ::gpulab::testing::be_perturbed())
#define sync() sync(), ::gpulab::testing::be_perturbed() // of cooperative groups
#define __ldcg(address) (::gpulab::testing::be_perturbed(), __ldcg(address))
#define blockIdx (::gpulab::testing::late_number_of_block())
