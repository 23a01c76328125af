/// @file
/// The launch of a thread-block cluster, for cuda_cluster_pivot and cuda_critical_path_pivot.
#pragma once

#include <cuda_runtime.h>
#include <string>

#include "early.cuh"
#include "gpulab/cuda/check.hpp"
#include "gpulab/error.hpp"

namespace lu {

/// The most blocks of a cluster. More than 8 must be allowed for each kernel.
inline constexpr int max_cluster_blocks = 16;

/// Launches a kernel with one cluster: as many blocks as it takes for all rows, rounded up to a power of two.
/// @param in_chain whether the kernel calls wait_for_previous(), so that it may start early
/// @param alone whether a block takes all shared memory that it may have, so that blocks of other kernels find no room
///        on its multiprocessor
/// @pre rows <= max_cluster_blocks * rows_of_block
/// @throws gpulab::Unsupported when the GPU cannot run so large a cluster: only 8 blocks are guaranteed
template <class... Parameters, class... Arguments>
void launch_cluster(void (*kernel)(Parameters...), int rows, int rows_of_block, int threads, bool in_chain, bool alone,
                    cudaStream_t stream, const Arguments&... arguments) {
    unsigned blocks = 1;
    while (blocks * static_cast<unsigned>(rows_of_block) < static_cast<unsigned>(rows)) blocks *= 2;
    cudaLaunchAttribute attributes[] = {{}, gpulab::early_launch()};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = blocks;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = in_chain ? 2 : 1;
    if (alone) {
        int device = 0, most = 0;
        cudaFuncAttributes of_kernel{};
        CUDA_CHECK(cudaGetDevice(&device));
        CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
        CUDA_CHECK(cudaFuncGetAttributes(&of_kernel, kernel));
        const int rest = most - static_cast<int>(of_kernel.sharedSizeBytes);
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, rest));
        config.dynamicSmemBytes = static_cast<std::size_t>(rest);
    }
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    const cudaError_t launched = cudaLaunchKernelEx(&config, kernel, arguments...);
    if (launched == cudaErrorInvalidClusterSize) {
        (void)cudaGetLastError(); // reported here
        throw gpulab::Unsupported("this GPU cannot run a cluster of " + std::to_string(blocks) + " blocks");
    }
    CUDA_CHECK(launched);
}

} // namespace lu
