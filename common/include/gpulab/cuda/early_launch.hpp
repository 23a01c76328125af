/// @file
/// Kernels that begin before the one before them in the stream has ended (programmatic dependent launch, from compute
/// capability 9.0 on): their blocks are in place when it ends, so less time passes between the two.
#pragma once

#include <cuda_runtime.h>

#include "gpulab/cuda/check.hpp"

namespace gpulab {

/// The attribute of a launch that may begin before the kernel before it in the stream has ended.
inline cudaLaunchAttribute early_launch() {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    return attribute;
}

/// Launches a kernel that may begin once every block of the kernel before it in the stream has called
/// let_next_kernel_begin() or has ended. On GPUs before compute capability 9.0 it begins later, as any other kernel.
/// @pre the kernel calls await_kernel_before() before it touches anything that the kernel before it reads or writes
template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
                  const Arguments&... arguments) {
    int device = 0, major = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    cudaLaunchAttribute early = early_launch();
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = major >= 9 ? 1 : 0;
    CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

#if defined(__CUDACC__)
/// In a kernel: the next one in the stream, if launched early, may begin.
__device__ __forceinline__ void let_next_kernel_begin() {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// In a kernel: waits until the one before it in the stream has ended; all that it has written is then visible.
__device__ __forceinline__ void await_kernel_before() {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}
#endif

} // namespace gpulab
