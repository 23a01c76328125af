/// @file
/// Arrays in the memory of a CUDA device, and page-locked arrays on the host.
#pragma once

#include <cstddef>
#include <cstring>
#include <cuda_runtime_api.h>
#include <span>
#include <utility>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/guard.hpp"

namespace gpulab {

/// n elements of T on the current CUDA device. Move-only; freed when it goes out of scope.
///
/// Made from a size, it is an output and poisoned (NaN); made from host data, it is an input. Guard bands on both sides
/// are checked by copy_to() and when the buffer is freed.
template <class T> class DeviceBuffer {
public:
    /// An output of n elements.
    /// @throws CudaError when the device does not have that much memory
    explicit DeviceBuffer(std::size_t n) : size_(n), guard_(guard_bytes()), guard_value_(detail::band_bytes.output) {
        allocate([&] {
            if (poisons()) CUDA_CHECK(cudaMemset(base_ + guard_, poison_byte_for<T>(), bytes()));
        });
    }

    /// An input: allocates and copies in.
    explicit DeviceBuffer(std::span<const T> host)
        : size_(host.size()), guard_(guard_bytes()), guard_value_(detail::band_bytes.input) {
        allocate([&] { CUDA_CHECK(cudaMemcpy(data(), host.data(), bytes(), cudaMemcpyHostToDevice)); });
    }
    /// The same from a vector.
    explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(std::span<const T>(host)) {}

    /// Frees the memory. Damage to a guard band that has not been reported is noted (note_stray_write), because a
    /// destructor does not throw; a CUDA error here was reported by an earlier call.
    ~DeviceBuffer() {
        if (base_ && !reported_) {
            try {
                check_guard_bands();
            } catch (const WrongResult& fault) {
                note_stray_write(fault.what());
            } catch (...) {
            }
        }
        cudaFree(base_);
    }

    DeviceBuffer(DeviceBuffer&& other) noexcept
        : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)), guard_(other.guard_),
          guard_value_(other.guard_value_), reported_(other.reported_) {}
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
        std::swap(base_, other.base_);
        std::swap(size_, other.size_);
        std::swap(guard_, other.guard_);
        std::swap(guard_value_, other.guard_value_);
        std::swap(reported_, other.reported_);
        return *this;
    }

    T* data() { return reinterpret_cast<T*>(base_ + guard_); }
    const T* data() const { return reinterpret_cast<const T*>(base_ + guard_); }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }

    /// Copies in from an array of the same length.
    void copy_from(std::span<const T> host) {
        check_length(host.size());
        CUDA_CHECK(cudaMemcpy(data(), host.data(), bytes(), cudaMemcpyHostToDevice));
        CUDA_CHECK(cudaDeviceSynchronize()); // a small copy may return early, and kernels run in other streams
    }

    /// Poisons the elements again, in a stream: before each timed run, so that no run can pass off the result of an
    /// earlier one as its own. Poisons only both ends of a large buffer: see poison_whole_bytes.
    void poison_async(cudaStream_t stream) {
        if (!poisons()) return;
        if (bytes() <= poison_whole_bytes) {
            CUDA_CHECK(cudaMemsetAsync(data(), poison_byte_for<T>(), bytes(), stream));
        } else {
            constexpr std::size_t end = poison_end_bytes / sizeof(T) * sizeof(T); // whole elements
            CUDA_CHECK(cudaMemsetAsync(base_ + guard_, poison_byte_for<T>(), end, stream));
            CUDA_CHECK(cudaMemsetAsync(base_ + guard_ + bytes() - end, poison_byte_for<T>(), end, stream));
        }
    }

    /// Copies out to an array of the same length and checks the guard bands.
    /// @throws WrongResult when a kernel wrote outside the buffer
    void copy_to(std::span<T> host) const {
        check_length(host.size());
        CUDA_CHECK(cudaMemcpy(host.data(), data(), bytes(), cudaMemcpyDeviceToHost));
        check_guard_bands();
    }
    /// The same into a vector.
    void copy_to(std::vector<T>& host) const { copy_to(std::span<T>(host)); }

    /// @throws WrongResult when a kernel wrote outside the buffer
    void check_guard_bands() const {
        if (guard_ == 0) return;
        std::vector<unsigned char> before(guard_), after(guard_);
        CUDA_CHECK(cudaMemcpy(before.data(), base_, guard_, cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(after.data(), base_ + guard_ + bytes(), guard_, cudaMemcpyDeviceToHost));
        try {
            check_guards(before.data(), after.data(), guard_, sizeof(T), guard_value_);
        } catch (const WrongResult&) {
            reported_ = true;
            throw;
        }
    }

private:
    /// Allocates the memory, fills it and writes the guard bands; frees it again when that fails.
    template <class Fill> void allocate(const Fill& fill) {
        CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&base_), bytes() + 2 * guard_));
        try {
            fill();
            CUDA_CHECK(cudaMemset(base_, guard_value_, guard_));
            CUDA_CHECK(cudaMemset(base_ + guard_ + bytes(), guard_value_, guard_));
            CUDA_CHECK(cudaDeviceSynchronize()); // a non-blocking stream would not wait for these fills
        } catch (...) {
            cudaFree(base_);
            throw;
        }
    }

    void check_length(std::size_t n) const {
        if (n != size_) throw Error("copy between a host array and a device buffer of different lengths");
    }

    unsigned char* base_ = nullptr; // start of the allocation; the elements begin guard_ bytes further
    std::size_t size_ = 0;
    std::size_t guard_ = 0;
    unsigned char guard_value_ = guard_byte;
    mutable bool reported_ = false; // damage to a guard band was thrown, so the destructor need not note it
};

/// n elements of T in page-locked host memory, which copy engines and kernels access directly. Move-only.
///
/// It starts poisoned (NaN), between guard bands that are checked by check_guard_bands() and when it is freed.
template <class T> class PinnedBuffer {
public:
    /// @param flags for cudaHostAlloc: cudaHostAllocDefault, cudaHostAllocMapped, ...
    explicit PinnedBuffer(std::size_t n, unsigned flags = cudaHostAllocDefault)
        : size_(n), guard_(guard_bytes()), guard_value_(detail::band_bytes.output) {
        CUDA_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&base_), bytes() + 2 * guard_, flags));
        std::memset(base_, guard_value_, bytes() + 2 * guard_);
        std::memset(base_ + guard_, poison_byte_for<T>(), bytes());
    }
    /// Frees the memory. Damage to a guard band that has not been reported is noted (note_stray_write), because a
    /// destructor does not throw.
    ~PinnedBuffer() {
        if (base_ && !reported_) {
            try {
                check_guard_bands();
            } catch (const WrongResult& fault) {
                note_stray_write(fault.what());
            } catch (...) {
            }
        }
        cudaFreeHost(base_);
    }
    PinnedBuffer(PinnedBuffer&& other) noexcept
        : base_(std::exchange(other.base_, nullptr)), size_(std::exchange(other.size_, 0)), guard_(other.guard_),
          guard_value_(other.guard_value_), reported_(other.reported_) {}
    PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
        std::swap(base_, other.base_);
        std::swap(size_, other.size_);
        std::swap(guard_, other.guard_);
        std::swap(guard_value_, other.guard_value_);
        std::swap(reported_, other.reported_);
        return *this;
    }

    T* data() { return reinterpret_cast<T*>(base_ + guard_); }
    const T* data() const { return reinterpret_cast<const T*>(base_ + guard_); }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }
    T& operator[](std::size_t i) { return data()[i]; }
    const T& operator[](std::size_t i) const { return data()[i]; }
    std::span<T> span() { return {data(), size_}; }
    std::span<const T> span() const { return {data(), size_}; }

    /// The address at which kernels on the current device access the elements.
    /// @throws Unsupported when the device cannot map host memory
    T* on_device() {
        int device = 0, can = 0;
        CUDA_CHECK(cudaGetDevice(&device));
        CUDA_CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCanMapHostMemory, device));
        if (!can) throw Unsupported("this device cannot map host memory");
        void* address = nullptr;
        CUDA_CHECK(cudaHostGetDevicePointer(&address, base_, 0));
        return reinterpret_cast<T*>(static_cast<unsigned char*>(address) + guard_);
    }

    /// Poisons the elements again, in a stream; see DeviceBuffer::poison_async(). @pre made with cudaHostAllocMapped
    void poison_async(cudaStream_t stream) {
        if (poisons()) CUDA_CHECK(cudaMemsetAsync(on_device(), poison_byte_for<T>(), bytes(), stream));
    }

    /// @throws WrongResult when something wrote outside the buffer. @pre the streams that use it are empty
    void check_guard_bands() const {
        try {
            check_guards(base_, base_ + guard_ + bytes(), guard_, sizeof(T), guard_value_);
        } catch (const WrongResult&) {
            reported_ = true;
            throw;
        }
    }

private:
    unsigned char* base_ = nullptr; // start of the allocation; the elements begin guard_ bytes further
    std::size_t size_ = 0;
    std::size_t guard_ = 0;
    unsigned char guard_value_ = guard_byte;
    mutable bool reported_ = false; // as in DeviceBuffer
};

/// Poisons a buffer in a stream; see poisoning().
template <class T> void poison(DeviceBuffer<T>& buffer, cudaStream_t stream) { buffer.poison_async(stream); }
/// The same for page-locked memory that the device has mapped.
template <class T> void poison(PinnedBuffer<T>& buffer, cudaStream_t stream) { buffer.poison_async(stream); }

} // namespace gpulab
