/// @file
/// What the handles of CUDA and of its libraries share.
#pragma once

#include <string>
#include <utility>

#include "gpulab/error.hpp"

namespace gpulab::detail {

/// Owns a handle, which a derived class creates: frees it. Move-only.
template <class Raw, auto destroy> class Handle {
public:
    Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    operator Raw() const { return handle_; }

protected:
    Handle() = default;
    ~Handle() {
        if (handle_) destroy(handle_);
    }
    Raw handle_ = nullptr;
};

/// The error of a library's call: its text, what went wrong, file and line.
inline Error library_error(const char* call, const std::string& what, const char* file, int line) {
    return Error(std::string(call) + ": " + what + " (" + file + ":" + std::to_string(line) + ")");
}

} // namespace gpulab::detail
