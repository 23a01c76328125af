#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <shared_mutex>
#include <string>

namespace cuda_emulator {

/// What an allocation is: cudaMalloc, cudaMallocHost or cudaHostRegister'ed copies, cudaMallocManaged, __device__ and
/// __constant__ variables.
enum class MemoryKind { device, pinned, managed, variable, constant };

/// A range of the arena that a program may use.
struct Allocation {
    std::uintptr_t begin = 0;
    std::size_t size = 0;
    MemoryKind kind = MemoryKind::device;
    std::string name;         ///< of a variable; empty otherwise
    std::uint64_t serial = 0; ///< the how-many-th allocation it is, from 1
    std::uintptr_t end() const { return begin + size; }
    bool contains(std::uintptr_t address) const { return address - begin < size; }
    /// The host may write here without a call that the emulator sees, so nothing here counts as "never written".
    bool host_visible() const { return kind == MemoryKind::pinned || kind == MemoryKind::managed; }
};

/// "1 byte", "2 bytes".
std::string bytes_in_words(std::uint64_t count);

/// Global memory: one arena of the host's address space, so that a device address is a host address.
///
/// Behind the arena lies its shadow, whose pages cost nothing until they are touched: a byte for each byte that says
/// whether it was ever written. Two windows in front of the arena hold no memory: generic addresses of shared and local
/// memory lie there.
class Memory {
public:
    static constexpr std::size_t alignment = 256; ///< as cudaMalloc gives
    static constexpr std::size_t red_zone = 256;  ///< at least so many bytes between two allocations
    static constexpr std::size_t window = std::size_t{1} << 32;

    explicit Memory(std::size_t bytes = std::size_t{32} << 30);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// Null when the arena is full. A size of 0 gets one byte's worth of place and a size of 0.
    void* allocate(std::size_t bytes, MemoryKind kind, std::string name = {}, std::size_t align = alignment);
    /// False when `address` does not start an allocation.
    bool free(void* address);

    /// A copy of the allocation that contains the address; size 0 and begin 0 if none does.
    Allocation find(std::uintptr_t address) const;
    Allocation find(const void* address) const { return find(reinterpret_cast<std::uintptr_t>(address)); }
    /// The allocation whose beginning or end is closest: what an access out of bounds was probably meant for.
    Allocation nearest(std::uintptr_t address) const;
    /// Where an address lies that is outside of all allocations, or ends there, in words.
    std::string neighbourhood(std::uintptr_t address) const;
    bool in_arena(std::uintptr_t address) const { return address - base_ < bytes_; }

    std::size_t capacity() const { return bytes_; }
    std::size_t used() const;

    /// The byte of the "written" shadow: 0 never written, 1 written. `address` must lie in the arena.
    std::uint8_t* written(std::uintptr_t address) const { return written_ + (address - base_); }
    void mark_written(std::uintptr_t address, std::size_t bytes) const { std::memset(written(address), 1, bytes); }

    std::uintptr_t shared_window() const { return base_ - window; }    ///< generic = this + shared address
    std::uintptr_t local_window() const { return base_ - 2 * window; } ///< generic = this + local address
    bool is_shared(std::uintptr_t generic) const { return generic - shared_window() < window; }
    bool is_local(std::uintptr_t generic) const { return generic - local_window() < window; }

private:
    std::size_t bytes_;
    std::uintptr_t base_ = 0;
    std::uint8_t* written_ = nullptr;
    void* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    mutable std::shared_mutex mutex_;
    std::map<std::uintptr_t, Allocation> allocations_; ///< by beginning
    std::map<std::uintptr_t, std::size_t> holes_;      ///< free ranges, by beginning
    std::uint64_t serial_ = 0;
    std::uintptr_t highest_ = 0; ///< the end of all allocations that there have been
    std::size_t used_ = 0;
};

} // namespace cuda_emulator
