/// @file
/// The functions of gpulab/cuda/async_copy.cuh, but here a copy arrives as late as CUDA allows: when a wait
/// asks for it, and never where none does. A kernel that reads before it has waited is forgiven by a GPU whose copies
/// are fast; here it reads what stood there before, every time.
#pragma once

#include "gpulab/cuda/check.hpp"

namespace perturbed {

constexpr unsigned max_threads = 1024; ///< of a whole grid
constexpr unsigned room = 128;         ///< copies under way in a thread; when there are more, the oldest arrives

/// A copy that has been started.
struct Copy {
    float* to;
    const float* from; ///< nullptr: zeros
    int floats;
    int group;
};

/// The copies of one thread.
struct Thread {
    Copy copies[room];
    unsigned started, arrived;
    int groups; ///< closed by commit_copies()
};

namespace {
__device__ Thread all_threads[max_threads]; // each file has its own
}

__device__ inline Thread& this_thread() {
    const unsigned block = blockIdx.y * gridDim.x + blockIdx.x, thread = threadIdx.y * blockDim.x + threadIdx.x;
    return all_threads[block * blockDim.x * blockDim.y + thread];
}

/// The oldest copy arrives.
__device__ inline void arrive(Thread& t) {
    const Copy& copy = t.copies[t.arrived++ % room];
    for (int e = 0; e < copy.floats; ++e) copy.to[e] = copy.from ? copy.from[e] : 0;
}

__device__ inline void start_copy(float* to, const float* from, int floats) {
    Thread& t = this_thread();
    if (t.started - t.arrived == room) arrive(t);
    t.copies[t.started++ % room] = {to, from, floats, t.groups};
}

/// What code in namespace perturbed finds as gpulab: these three functions, and of everything else the real one.
namespace gpulab {
using namespace ::gpulab;

template <int bytes> __device__ void copy_async(float* shared, const float* global, bool inside) {
    start_copy(shared, inside ? global : nullptr, bytes / 4);
}
__device__ inline void commit_copies() { ++this_thread().groups; }
template <int pending> __device__ void wait_for_copies() {
    Thread& t = this_thread();
    while (t.arrived != t.started && t.copies[t.arrived % room].group < t.groups - pending) arrive(t);
}
} // namespace gpulab

/// Forgets the copies of an earlier launch. Call before each.
/// @pre the grid has at most max_threads threads
inline void forget_copies(cudaStream_t stream) {
    void* all = nullptr;
    CUDA_CHECK(cudaGetSymbolAddress(&all, all_threads));
    CUDA_CHECK(cudaMemsetAsync(all, 0, sizeof all_threads, stream));
}

} // namespace perturbed
