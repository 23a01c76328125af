/// @file
/// Arrays in the memory of a CUDA device, and page-locked arrays on the host.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <span>
#include <vector>

#include "gpulab/cuda/check.hpp"
#include "gpulab/poison.hpp"

namespace gpulab {

namespace detail {
/// Bytes between two guard bands, on the current device or page-locked on the host: what DeviceBuffer and PinnedBuffer
/// have in common for all types. Move-only.
class CudaMemory {
public:
    static CudaMemory output(std::size_t bytes, std::size_t element_bytes, unsigned char poison);
    static CudaMemory input(const void* host, std::size_t bytes, std::size_t element_bytes); // copied in
    static CudaMemory pinned(std::size_t bytes, std::size_t element_bytes, unsigned char poison, unsigned flags);
    ~CudaMemory();
    CudaMemory(CudaMemory&& other) noexcept;
    CudaMemory& operator=(CudaMemory&& other) noexcept;

    void* data() const { return base_ + guard_; }
    std::size_t bytes() const { return bytes_; }
    void* on_device() const;                                // pinned memory's address on the current device
    void copy_from(const void* host, std::size_t bytes);    // blocking
    void copy_to(void* host, std::size_t bytes) const;      // blocking; checks the guard bands
    void poison(unsigned char poison, cudaStream_t stream); // in the stream
    void check_guard_bands() const;

private:
    CudaMemory(std::size_t bytes, std::size_t element_bytes, unsigned char guard_value);
    void allocate();   // on the device
    void fill_bands(); // on the device

    unsigned char* base_ = nullptr; // start of the allocation; the elements begin guard_ bytes further
    std::size_t bytes_ = 0;
    std::size_t element_bytes_ = 1;
    std::size_t guard_ = 0;
    unsigned char guard_value_ = 0;
    bool pinned_ = false;
    mutable bool watched_ = false; // the guard bands are filled, and no damage to them has been thrown
};
} // namespace detail

/// n elements of T on the current CUDA device. Move-only; freed when it goes out of scope.
///
/// Made from a size, it is an output and poisoned (NaN); made from host data, it is an input. Guard bands on both sides
/// are checked by copy_to() and when the buffer is freed. Damage that has not been reported by then is noted
/// (note_stray_write), because a destructor does not throw.
template <class T> class DeviceBuffer {
public:
    /// An output of n elements.
    /// @throws CudaError when the device does not have that much memory
    explicit DeviceBuffer(std::size_t n)
        : memory_(detail::CudaMemory::output(n * sizeof(T), sizeof(T), poison_byte_for<T>())) {}

    /// An input: allocates and copies in.
    explicit DeviceBuffer(std::span<const T> host)
        : memory_(detail::CudaMemory::input(host.data(), host.size_bytes(), sizeof(T))) {}
    /// The same from a vector.
    explicit DeviceBuffer(const std::vector<T>& host) : DeviceBuffer(std::span<const T>(host)) {}

    T* data() { return static_cast<T*>(memory_.data()); }
    const T* data() const { return static_cast<const T*>(memory_.data()); }
    std::size_t size() const { return memory_.bytes() / sizeof(T); }
    std::size_t bytes() const { return memory_.bytes(); }

    /// Copies in from an array of the same length.
    void copy_from(std::span<const T> host) { memory_.copy_from(host.data(), host.size_bytes()); }

    /// Poisons the elements again, in a stream: before each timed run, so that no run can pass off the result of an
    /// earlier one as its own. Poisons only both ends of a large buffer: see poison_whole_bytes.
    void poison_async(cudaStream_t stream) { memory_.poison(poison_byte_for<T>(), stream); }

    /// Copies out to an array of the same length and checks the guard bands.
    /// @throws WrongResult when a kernel wrote outside the buffer
    void copy_to(std::span<T> host) const { memory_.copy_to(host.data(), host.size_bytes()); }
    /// The same into a vector.
    void copy_to(std::vector<T>& host) const { copy_to(std::span<T>(host)); }

    /// @throws WrongResult when a kernel wrote outside the buffer
    void check_guard_bands() const { memory_.check_guard_bands(); }

private:
    detail::CudaMemory memory_;
};

/// n elements of T in page-locked host memory, which copy engines and kernels access directly. Move-only.
///
/// It starts poisoned (NaN), between guard bands that are checked by check_guard_bands() and when it is freed; see
/// DeviceBuffer.
template <class T> class PinnedBuffer {
public:
    /// @param flags for cudaHostAlloc: cudaHostAllocDefault, cudaHostAllocMapped, ...
    explicit PinnedBuffer(std::size_t n, unsigned flags = cudaHostAllocDefault)
        : memory_(detail::CudaMemory::pinned(n * sizeof(T), sizeof(T), poison_byte_for<T>(), flags)) {}

    T* data() { return static_cast<T*>(memory_.data()); }
    const T* data() const { return static_cast<const T*>(memory_.data()); }
    std::size_t size() const { return memory_.bytes() / sizeof(T); }
    std::size_t bytes() const { return memory_.bytes(); }
    T& operator[](std::size_t i) { return data()[i]; }
    const T& operator[](std::size_t i) const { return data()[i]; }
    std::span<T> span() { return {data(), size()}; }
    std::span<const T> span() const { return {data(), size()}; }

    /// The address at which kernels on the current device access the elements.
    /// @throws Unsupported when the device cannot map host memory
    T* on_device() { return static_cast<T*>(memory_.on_device()); }

    /// Poisons the elements again, in a stream; see DeviceBuffer::poison_async(). @pre made with cudaHostAllocMapped
    void poison_async(cudaStream_t stream) { memory_.poison(poison_byte_for<T>(), stream); }

    /// @throws WrongResult when something wrote outside the buffer. @pre the streams that use it are empty
    void check_guard_bands() const { memory_.check_guard_bands(); }

private:
    detail::CudaMemory memory_;
};

/// Poisons a buffer in a stream; see poisoning().
template <class T> void poison(DeviceBuffer<T>& buffer, cudaStream_t stream) { buffer.poison_async(stream); }
/// The same for page-locked memory that the device has mapped.
template <class T> void poison(PinnedBuffer<T>& buffer, cudaStream_t stream) { buffer.poison_async(stream); }

/// Copies a buffer within the device, in a stream. @pre both have the same size
template <class T> void copy_async(const DeviceBuffer<T>& from, DeviceBuffer<T>& to, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
}

} // namespace gpulab
