/// @file
/// Every CUDA call goes through CUDA_CHECK: a failure names the call, the file and the line.
#pragma once

#include <cuda_runtime_api.h>

namespace gpulab::detail {

/// @throws CudaError (gpulab/cuda/error.hpp), or nothing for cudaSuccess
void cuda_check(cudaError_t code, const char* call, const char* file, int line);

} // namespace gpulab::detail

/// Throws gpulab::CudaError unless the call returns cudaSuccess.
#define CUDA_CHECK(call) ::gpulab::detail::cuda_check((call), #call, __FILE__, __LINE__)

/// A kernel launch returns nothing; its error waits in cudaGetLastError. Use right after `<<< >>>`.
#define CUDA_CHECK_LAUNCH() ::gpulab::detail::cuda_check(cudaGetLastError(), "kernel launch", __FILE__, __LINE__)
