/// @file
/// Page-locked host memory that kernels can use in place, between guard bands.
#pragma once

#include <cstring>
#include <span>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"

namespace streams {

/// n bytes of host memory with an address on the device as well.
class MappedBytes {
public:
    /// @throws Unsupported when the current device cannot map host memory
    explicit MappedBytes(std::size_t n)
        : size_(n), guard_(gpulab::guard_bytes()), memory_(n + 2 * guard_, checked_flags()) {
        std::memset(memory_.data(), gpulab::guard_byte, memory_.size());
        void* address = nullptr;
        CUDA_CHECK(cudaHostGetDevicePointer(&address, memory_.data(), 0));
        device_ = static_cast<unsigned char*>(address) + guard_;
    }
    std::span<unsigned char> host() { return {memory_.data() + guard_, size_}; }
    unsigned char* on_device() const { return device_; }
    /// @throws WrongResult when a kernel wrote outside
    void check_guard_bands() const { gpulab::check_guards(memory_.data(), memory_.data() + guard_ + size_, guard_, 1); }

private:
    static unsigned checked_flags() {
        int device = 0, can = 0;
        CUDA_CHECK(cudaGetDevice(&device));
        CUDA_CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCanMapHostMemory, device));
        if (!can) throw gpulab::Unsupported("this device cannot map host memory");
        return cudaHostAllocMapped;
    }

    std::size_t size_, guard_;
    gpulab::PinnedBuffer<unsigned char> memory_;
    unsigned char* device_ = nullptr;
};

} // namespace streams
