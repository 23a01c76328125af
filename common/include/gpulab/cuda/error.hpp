/// @file
/// What CUDA_CHECK throws.
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

} // namespace gpulab
