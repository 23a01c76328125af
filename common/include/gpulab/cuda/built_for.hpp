/// @file
/// Was a kernel compiled for a device that can do what it needs?
#pragma once

#include <cuda_runtime_api.h>
#include <string>

#include "gpulab/cuda/check.hpp"
#include "gpulab/error.hpp"

namespace gpulab {

/// A kernel compiled for an older device runs on a newer one, but without the instructions that only the newer one has.
/// @param capability 10 * major + minor @throws gpulab::Unsupported when it was compiled for less
template <class Kernel> void require_built_for(Kernel kernel, int capability) {
    cudaFuncAttributes attributes;
    CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    if (attributes.ptxVersion < capability)
        throw Unsupported("this build is for compute capability " + std::to_string(attributes.ptxVersion / 10) + "." +
                          std::to_string(attributes.ptxVersion % 10) + "; set CMAKE_CUDA_ARCHITECTURES");
}

} // namespace gpulab
