/// @file
/// A cuSOLVER handle that frees itself, and checked cuSOLVER calls. For the baselines.
#pragma once

#include <cusolverDn.h>
#include <string>

#include "gpulab/cuda/handle.hpp"

/// Throws gpulab::Error unless the cuSOLVER call succeeds; the message names call, file and line.
#define CUSOLVER_CHECK(call) ::gpulab::detail::cusolver_check((call), #call, __FILE__, __LINE__)

namespace gpulab {

namespace detail {
inline void cusolver_check(cusolverStatus_t status, const char* call, const char* file, int line) {
    if (status != CUSOLVER_STATUS_SUCCESS)
        throw library_error(call, "cuSOLVER status " + std::to_string(static_cast<int>(status)), file, line);
}
} // namespace detail

/// cuSOLVER for dense matrices on the current device. Move-only.
class CusolverHandle : public detail::Handle<cusolverDnHandle_t, cusolverDnDestroy> {
public:
    CusolverHandle() { CUSOLVER_CHECK(cusolverDnCreate(&handle_)); }
};

} // namespace gpulab
