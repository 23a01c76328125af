/// @file
/// A cuBLAS handle that frees itself, and checked cuBLAS calls. For the baselines.
#pragma once

#include <cublas_v2.h>

#include "gpulab/cuda/handle.hpp"

/// Throws gpulab::Error unless the cuBLAS call succeeds; the message names call, file and line.
#define CUBLAS_CHECK(call) ::gpulab::detail::cublas_check((call), #call, __FILE__, __LINE__)

namespace gpulab {

namespace detail {
inline void cublas_check(cublasStatus_t status, const char* call, const char* file, int line) {
    if (status != CUBLAS_STATUS_SUCCESS) throw library_error(call, cublasGetStatusString(status), file, line);
}
} // namespace detail

/// cuBLAS on the current device. Move-only.
class CublasHandle : public detail::Handle<cublasHandle_t, cublasDestroy> {
public:
    CublasHandle() { CUBLAS_CHECK(cublasCreate(&handle_)); }
};

} // namespace gpulab
