/// @file
/// How full a kernel keeps a multiprocessor (Alfaro Vigo & Rossetto, section 2.3.6).
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>

#include "gpulab/cuda/check.hpp"
#include "gpulab/test_hooks.hpp"

namespace gpulab {

/// What fits on one streaming multiprocessor at a time.
struct Occupancy {
    int blocks_per_sm = 0;
    int warps_per_sm = 0;
    double percent = 0; ///< of the warps the multiprocessor can hold
};

/// Asks the runtime how many blocks of a kernel fit on one multiprocessor of the current device.
/// @param kernel a `__global__` function
/// @param block_threads threads per block
/// @param dynamic_shared_bytes the third launch parameter
template <class Kernel> Occupancy occupancy(Kernel kernel, int block_threads, std::size_t dynamic_shared_bytes = 0) {
    Occupancy result;
    int device = 0, warp = 0, threads_per_sm = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device));
    CUDA_CHECK(cudaDeviceGetAttribute(&threads_per_sm, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&result.blocks_per_sm, kernel, block_threads,
                                                             dynamic_shared_bytes));
    result.warps_per_sm = result.blocks_per_sm * ((block_threads + warp - 1) / warp);
    result.percent = 100.0 * result.warps_per_sm * warp / threads_per_sm;
    return result;
}

/// Streaming multiprocessors of the current device; grids of persistent kernels are multiples of it.
inline unsigned multiprocessor_count() {
    int device = 0, count = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return static_cast<unsigned>(count);
}

/// Blocks of a kernel that the current device runs at the same time: the largest grid in which no block waits for
/// another one to end.
/// @param kernel,block_threads,dynamic_shared_bytes as for occupancy()
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned block_threads, std::size_t dynamic_shared_bytes = 0) {
    const Occupancy o = occupancy(kernel, static_cast<int>(block_threads), dynamic_shared_bytes);
    const unsigned blocks = static_cast<unsigned>(o.blocks_per_sm) * multiprocessor_count();
    note_cut(std::size_t{blocks} * block_threads);
    return blocks;
}

} // namespace gpulab
