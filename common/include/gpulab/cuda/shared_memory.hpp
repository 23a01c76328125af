/// @file
/// Dynamic shared memory above the 48 KiB that every kernel may use.
#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <string>

#include "gpulab/cuda/check.hpp"
#include "gpulab/error.hpp"

namespace gpulab {

/// Lets a kernel use this much dynamic shared memory. Above 48 KiB a kernel must ask for it.
/// @param what the block keeps there, for the message: "a matrix"
/// @throws Unsupported when a block of this device has less
template <class Kernel> void ask_for_shared_memory(Kernel kernel, std::size_t bytes, const std::string& what) {
    int device = 0, most = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    cudaFuncAttributes attributes{};
    CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    if (bytes + attributes.sharedSizeBytes > static_cast<std::size_t>(most))
        throw Unsupported(what + " takes " + std::to_string(bytes) +
                          " bytes of shared memory, and a block of this device has " +
                          std::to_string(static_cast<std::size_t>(most) - attributes.sharedSizeBytes));
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

} // namespace gpulab
