/// @file
/// The launches of cuda_critical_path_pivot's chain, whose kernels begin while the one before them ends.
#pragma once

#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/early_launch.hpp"

namespace lu {

#if defined(__CUDACC__)
/// By all threads of a kernel that launch_in_chain() or launch_cluster() launches: waits until the kernel before it has
/// ended, and its results are in memory. Then the next one may come, and wait likewise. Does nothing in a kernel
/// launched otherwise.
__device__ __forceinline__ void wait_for_previous() {
    gpulab::await_kernel_before();
    gpulab::let_next_kernel_begin();
}
#endif

/// The most columns on which a kernel of the chain works. One that works on more would wait on multiprocessors that the
/// chain needs.
inline constexpr int most_columns_of_chain = 256;

/// Launches a kernel that calls wait_for_previous(). It starts early if it belongs to the chain.
/// @param columns that it works on
template <class... Parameters, class... Arguments>
void launch_in_chain(void (*kernel)(Parameters...), dim3 blocks, int threads, std::size_t shared, cudaStream_t stream,
                     int columns, const Arguments&... arguments) {
    cudaLaunchAttribute attribute = gpulab::early_launch();
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
