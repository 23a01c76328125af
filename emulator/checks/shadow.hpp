/// @file
/// Records of accesses for all of global memory, and for the shared memory of a block.
#pragma once

#include <atomic>
#include <vector>

#include "checks/cells.hpp"
#include "machine/memory.hpp"

namespace cuda_emulator {

/// A range of zeros in the address space; pages take memory once they are written to.
class Zeros {
public:
    explicit Zeros(std::size_t bytes);
    ~Zeros();
    Zeros(const Zeros&) = delete;
    Zeros& operator=(const Zeros&) = delete;
    template <class T> T* as() const { return static_cast<T*>(at_); }

private:
    void* at_;
    std::size_t bytes_;
};

/// The records of global memory, and a lock for each piece of 256 bytes (shared with other pieces).
class GlobalCells {
public:
    explicit GlobalCells(const Memory& memory);

    static constexpr std::size_t piece = 256;

    std::size_t offset(std::uintptr_t address) const { return address - base_; }
    /// The round in which the piece was last accessed byte by byte.
    std::uint32_t& bytes_used(std::size_t offset) const { return bytes_used_.as<std::uint32_t>()[offset / piece]; }

    void lock(std::size_t piece_number) {
        std::atomic_flag& lock = locks_[piece_number % locks_.size()];
        while (lock.test_and_set(std::memory_order_acquire)) lock.wait(true, std::memory_order_relaxed);
    }
    void unlock(std::size_t piece_number) {
        std::atomic_flag& lock = locks_[piece_number % locks_.size()];
        lock.clear(std::memory_order_release);
        lock.notify_one();
    }

    Cells words, bytes; ///< by offset / 4, by offset

private:
    std::uintptr_t base_;
    std::array<Zeros, 6> records_;
    Zeros bytes_used_;
    std::vector<std::atomic_flag> locks_ = std::vector<std::atomic_flag>(4096);
};

/// The records of one block's shared memory.
class SharedCells {
public:
    void resize(std::size_t bytes);
    void use_bytes();
    bool uses_bytes() const { return !byte_records_.empty(); }

    Cells words, bytes;

private:
    std::size_t size_ = 0;
    std::vector<Record> records_, byte_records_;
};

} // namespace cuda_emulator
