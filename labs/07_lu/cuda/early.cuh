/// @file
/// Kernels that begin while the one before them in the stream ends (programmatic dependent launch, from compute
/// capability 9.0 on): the launch takes no time of its own. For the chain of cuda_critical_path_pivot.
#pragma once

#include <cuda_runtime.h>

#include "gpulab/cuda/check.hpp"

namespace lu {

#if defined(__CUDACC__)
/// By all threads of a kernel that launch_early() launches: waits until the kernel before it has ended, and its results
/// are in memory. Then the next one may come, and wait likewise. Does nothing in a kernel launched otherwise.
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
#endif

/// The attribute of a launch that may begin before the kernel before it has ended.
inline cudaLaunchAttribute early() {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    return attribute;
}

/// The most columns on which a kernel of the chain works. One that works on more would wait on multiprocessors that the
/// chain needs.
inline constexpr int most_columns_of_chain = 256;

/// Launches a kernel that calls wait_for_previous(). It starts early if it belongs to the chain.
/// @param columns that it works on
template <class... Parameters, class... Arguments>
void launch_in_chain(void (*kernel)(Parameters...), dim3 blocks, int threads, std::size_t shared, cudaStream_t stream,
                     int columns, const Arguments&... arguments) {
    cudaLaunchAttribute attribute = early();
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = columns <= most_columns_of_chain ? 1 : 0;
    CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

} // namespace lu
