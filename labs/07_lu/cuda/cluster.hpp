/// @file
/// The launch of a thread-block cluster, for cuda_cluster_pivot and cuda_critical_path_pivot.
#pragma once

#include <cuda_runtime.h>

#include "gpulab/cuda/check.hpp"

namespace lu {

/// The most blocks of a cluster. More than 8 must be allowed for each kernel.
inline constexpr int most_cluster_blocks = 16;

/// Launches a kernel with one cluster: as many blocks as it takes for all rows, rounded up to a power of two.
/// @pre rows <= most_cluster_blocks * rows_of_block
template <class... Parameters, class... Arguments>
void launch_cluster(void (*kernel)(Parameters...), int rows, int rows_of_block, int threads, cudaStream_t stream,
                    const Arguments&... arguments) {
    unsigned blocks = 1;
    while (blocks * static_cast<unsigned>(rows_of_block) < static_cast<unsigned>(rows)) blocks *= 2;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

} // namespace lu
