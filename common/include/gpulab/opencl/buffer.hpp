/// @file
/// Arrays in the memory of an OpenCL device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpulab/guard.hpp"
#include "gpulab/opencl/context.hpp"

namespace gpulab {

namespace detail {
/// Memory for `bytes` between two guard bands: the whole allocation, and the window that kernels get.
struct GuardedMemory {
    cl::Buffer whole;
    cl::Buffer window;
    std::size_t guard = 0;
};
GuardedMemory guarded_memory(std::size_t bytes);                              // poisoned
cl::Buffer input_memory(const void* host, std::size_t bytes);                 // copied in
void read_memory(const cl::Buffer& from, std::size_t bytes, void* host);      // blocking
void write_memory(const cl::Buffer& to, std::size_t bytes, const void* host); // blocking
void check_guards(const GuardedMemory& memory, std::size_t bytes, std::size_t element_bytes);
} // namespace detail

/// n elements of T on the current OpenCL device.
///
/// Made from a size it is an output: poisoned (NaN), with guard bands on both sides that copy_to() checks.
/// Made from host data it is an input: exactly as long as the data (one byte when there is none).
template <class T> class ClBuffer {
public:
    /// An output of n elements. @throws cl::Error when the device has not that much memory
    explicit ClBuffer(std::size_t n) : size_(n), memory_(detail::guarded_memory(n * sizeof(T))) {}

    /// An input: allocates and copies in.
    explicit ClBuffer(std::span<const T> host) : size_(host.size()) {
        memory_.window = detail::input_memory(host.data(), bytes());
    }
    /// The same from a vector.
    explicit ClBuffer(const std::vector<T>& host) : ClBuffer(std::span<const T>(host)) {}

    ClBuffer(ClBuffer&&) noexcept = default;
    ClBuffer& operator=(ClBuffer&&) noexcept = default;

    /// What a kernel takes as its argument.
    const cl::Buffer& data() const { return memory_.window; }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }

    /// Copies in from an array of the same length.
    void copy_from(std::span<const T> host) {
        check_length(host.size());
        detail::write_memory(data(), bytes(), host.data());
    }

    /// Waits for the queue, copies out to an array of the same length and checks the guard bands.
    /// @throws WrongResult when a kernel wrote outside the buffer
    void copy_to(std::span<T> host) const {
        check_length(host.size());
        detail::read_memory(data(), bytes(), host.data());
        detail::check_guards(memory_, bytes(), sizeof(T));
    }
    /// The same into a vector.
    void copy_to(std::vector<T>& host) const { copy_to(std::span<T>(host)); }

private:
    void check_length(std::size_t n) const {
        if (n != size_) throw Error("copy between a host array and a device buffer of different lengths");
    }

    std::size_t size_ = 0;
    detail::GuardedMemory memory_;
};

} // namespace gpulab
