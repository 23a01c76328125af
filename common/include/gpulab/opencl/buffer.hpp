/// @file
/// Arrays in the memory of an OpenCL device.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "gpulab/guard.hpp"
#include "gpulab/opencl/context.hpp"
#include "gpulab/poison.hpp"

namespace gpulab {

namespace detail {
/// Memory for `bytes` between two guard bands: the whole allocation, and the window that kernels get.
struct GuardedMemory {
    cl::Buffer whole;
    cl::Buffer window;
    cl::CommandQueue queue; // of the device that it lies on, which need not be the current one later
    std::size_t guard = 0;
    unsigned char guard_value = guard_byte;
};
GuardedMemory guarded_memory(std::size_t bytes, unsigned char fill);             // every byte set to `fill`
GuardedMemory input_memory(const void* host, std::size_t bytes);                 // copied in
void read_memory(const GuardedMemory& from, std::size_t bytes, void* host);      // blocking
void write_memory(const GuardedMemory& to, std::size_t bytes, const void* host); // blocking
void poison_memory(const GuardedMemory& memory, std::size_t bytes, unsigned char fill, const cl::CommandQueue& queue,
                   std::size_t piece = std::size_t{1} << 30); // bytes filled by one command
void check_guards(const GuardedMemory& memory, std::size_t bytes, std::size_t element_bytes);
} // namespace detail

/// n elements of T on the current OpenCL device.
///
/// Made from a size, it is an output and poisoned (NaN); made from host data, it is an input. Guard bands on both sides
/// are checked by copy_to() and when the buffer is freed.
template <class T> class ClBuffer {
public:
    /// An output of n elements. @throws cl::Error when the device does not have that much memory
    explicit ClBuffer(std::size_t n) : size_(n), memory_(detail::guarded_memory(n * sizeof(T), poison_byte_for<T>())) {}

    /// An input: allocates and copies in.
    explicit ClBuffer(std::span<const T> host)
        : size_(host.size()), memory_(detail::input_memory(host.data(), host.size_bytes())) {}
    /// The same from a vector.
    explicit ClBuffer(const std::vector<T>& host) : ClBuffer(std::span<const T>(host)) {}

    /// Frees the memory. Damage to a guard band that has not been reported is noted (note_stray_write), because a
    /// destructor does not throw.
    ~ClBuffer() {
        if (memory_.whole() && !reported_) {
            try {
                check_guard_bands();
            } catch (const WrongResult& fault) {
                note_stray_write(fault.what());
            } catch (...) {
            }
        }
    }

    ClBuffer(ClBuffer&& other) noexcept
        : size_(std::exchange(other.size_, 0)), memory_(std::exchange(other.memory_, {})), reported_(other.reported_) {}
    ClBuffer& operator=(ClBuffer&& other) noexcept {
        std::swap(size_, other.size_);
        std::swap(memory_, other.memory_);
        std::swap(reported_, other.reported_);
        return *this;
    }

    /// What a kernel takes as its argument.
    const cl::Buffer& data() const { return memory_.window; }
    std::size_t size() const { return size_; }
    std::size_t bytes() const { return size_ * sizeof(T); }

    /// Copies in from an array of the same length.
    void copy_from(std::span<const T> host) {
        check_length(host.size());
        detail::write_memory(memory_, bytes(), host.data());
    }

    /// Poisons the elements again, in a queue: before each timed run, so that no run can pass off the result of an
    /// earlier one as its own.
    void poison_async(const cl::CommandQueue& queue) const {
        detail::poison_memory(memory_, bytes(), poison_byte_for<T>(), queue);
    }

    /// Waits for the queue, copies out to an array of the same length and checks the guard bands.
    /// @throws WrongResult when a kernel wrote outside the buffer
    void copy_to(std::span<T> host) const {
        check_length(host.size());
        detail::read_memory(memory_, bytes(), host.data());
        check_guard_bands();
    }
    /// The same into a vector.
    void copy_to(std::vector<T>& host) const { copy_to(std::span<T>(host)); }

    /// @throws WrongResult when a kernel wrote outside the buffer
    void check_guard_bands() const {
        try {
            detail::check_guards(memory_, bytes(), sizeof(T));
        } catch (const WrongResult&) {
            reported_ = true;
            throw;
        }
    }

private:
    void check_length(std::size_t n) const {
        if (n != size_) throw Error("copy between a host array and a device buffer of different lengths");
    }

    std::size_t size_ = 0;
    detail::GuardedMemory memory_;
    mutable bool reported_ = false; // damage to a guard band was thrown, so the destructor need not note it
};

/// Poisons a buffer in a queue; see poisoning().
template <class T> void poison(const ClBuffer<T>& buffer, const cl::CommandQueue& queue) { buffer.poison_async(queue); }

} // namespace gpulab
