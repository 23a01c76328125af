/// @file
/// Every CUDA call goes through CUDA_CHECK: a failure names the call, the file and the line.
#pragma once

#include <cuda_runtime_api.h>

#include "gpulab/error.hpp"

namespace gpulab {

/// A CUDA call that failed. Its message: `call: cudaErrorName, description (path:line)`.
class CudaError : public Error {
public:
    /// @param call,file,line what failed and where; see CUDA_CHECK
    CudaError(cudaError_t code, const char* call, const char* file, int line);
    cudaError_t code() const { return code_; }

private:
    cudaError_t code_;
};

namespace detail {
inline void cuda_check(cudaError_t code, const char* call, const char* file, int line) {
    if (code == cudaSuccess) return;
    (void)cudaGetLastError(); // else CUDA_CHECK_LAUNCH() would report this error again, for the next kernel
    throw CudaError(code, call, file, line);
}
} // namespace detail

} // namespace gpulab

/// Throws gpulab::CudaError unless the call returns cudaSuccess.
#define CUDA_CHECK(call) ::gpulab::detail::cuda_check((call), #call, __FILE__, __LINE__)

/// A kernel launch returns nothing; its error waits in cudaGetLastError. Use right after `<<< >>>`.
#define CUDA_CHECK_LAUNCH() ::gpulab::detail::cuda_check(cudaGetLastError(), "kernel launch", __FILE__, __LINE__)
