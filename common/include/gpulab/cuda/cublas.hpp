/// @file
/// A cuBLAS handle that frees itself, and checked cuBLAS calls. For the baselines.
#pragma once

#include <cublas_v2.h>
#include <string>
#include <utility>

#include "gpulab/error.hpp"

namespace gpulab {

namespace detail {
inline void cublas_check(cublasStatus_t status, const char* call, const char* file, int line) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw Error(std::string(call) + ": " + cublasGetStatusString(status) + " (" + file + ":" +
                    std::to_string(line) + ")");
}
} // namespace detail

} // namespace gpulab

/// Throws gpulab::Error unless the cuBLAS call succeeds; the message names call, file and line.
#define CUBLAS_CHECK(call) ::gpulab::detail::cublas_check((call), #call, __FILE__, __LINE__)

namespace gpulab {

/// cuBLAS on the current device. Move-only.
class CublasHandle {
public:
    CublasHandle() { CUBLAS_CHECK(cublasCreate(&handle_)); }
    ~CublasHandle() {
        if (handle_) cublasDestroy(handle_);
    }
    CublasHandle(CublasHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    CublasHandle& operator=(CublasHandle&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    operator cublasHandle_t() const { return handle_; }

private:
    cublasHandle_t handle_ = nullptr;
};

} // namespace gpulab
