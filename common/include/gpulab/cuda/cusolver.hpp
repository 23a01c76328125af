/// @file
/// A cuSOLVER handle that frees itself, and checked cuSOLVER calls. For the baselines.
#pragma once

#include <cusolverDn.h>
#include <string>
#include <utility>

#include "gpulab/error.hpp"

namespace gpulab {

namespace detail {
inline void cusolver_check(cusolverStatus_t status, const char* call, const char* file, int line) {
    if (status != CUSOLVER_STATUS_SUCCESS)
        throw Error(std::string(call) + ": cuSOLVER status " + std::to_string(static_cast<int>(status)) + " (" + file +
                    ":" + std::to_string(line) + ")");
}
} // namespace detail

} // namespace gpulab

/// Throws gpulab::Error unless the cuSOLVER call succeeds; the message names call, file and line.
#define CUSOLVER_CHECK(call) ::gpulab::detail::cusolver_check((call), #call, __FILE__, __LINE__)

namespace gpulab {

/// cuSOLVER for dense matrices on the current device. Move-only.
class CusolverHandle {
public:
    CusolverHandle() { CUSOLVER_CHECK(cusolverDnCreate(&handle_)); }
    ~CusolverHandle() {
        if (handle_) cusolverDnDestroy(handle_);
    }
    CusolverHandle(CusolverHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    CusolverHandle& operator=(CusolverHandle&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    operator cusolverDnHandle_t() const { return handle_; }

private:
    cusolverDnHandle_t handle_ = nullptr;
};

} // namespace gpulab
