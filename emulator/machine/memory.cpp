#include "machine/memory.hpp"
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace cuda_emulator {
namespace {

std::size_t up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

} // namespace

Memory::Memory(std::size_t bytes) : bytes_(up(bytes, 1 << 20)) {
    // windows | arena | written; a page costs memory when it is first touched.
    mapped_ = 2 * window + 2 * bytes_;
    void* const wish = reinterpret_cast<void*>(std::uintptr_t{0x200000000000}); // the same addresses every time
    mapping_ = mmap(wish, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(mapping_, 2 * window, PROT_NONE);
    base_ = reinterpret_cast<std::uintptr_t>(mapping_) + 2 * window;
    written_ = reinterpret_cast<std::uint8_t*>(base_ + bytes_);
    holes_[base_ + red_zone] = bytes_ - red_zone;
}

Memory::~Memory() { munmap(mapping_, mapped_); }

void* Memory::allocate(std::size_t bytes, MemoryKind kind, std::string name, std::size_t align) {
    const std::unique_lock lock(mutex_);
    align = align < alignment ? alignment : align;
    const std::size_t want = up(bytes + red_zone, alignment);
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
        const std::uintptr_t begin = up(hole->first, align), end = hole->first + hole->second;
        if (begin + want > end || begin + want < begin) continue;
        const std::uintptr_t hole_begin = hole->first;
        holes_.erase(hole);
        if (begin > hole_begin) holes_[hole_begin] = begin - hole_begin;
        if (begin + want < end) holes_[begin + want] = end - begin - want;
        allocations_[begin] = {begin, bytes, kind, std::move(name), ++serial_};
        used_ += want;
        highest_ = std::max(highest_, begin + want);
        return reinterpret_cast<void*>(begin);
    }
    return nullptr;
}

bool Memory::free(void* address) {
    const std::unique_lock lock(mutex_);
    const auto found = allocations_.find(reinterpret_cast<std::uintptr_t>(address));
    if (found == allocations_.end()) return false;
    std::uintptr_t begin = found->second.begin;
    std::size_t size = up(found->second.size + red_zone, alignment);
    allocations_.erase(found);
    used_ -= size;

    // What comes here next starts with a clean shadow. Large ranges also give their pages back.
    const auto wipe = [](void* at, std::size_t bytes, bool content) {
        constexpr std::size_t page = 4096;
        const auto from = reinterpret_cast<std::uintptr_t>(at), first = up(from, page),
                   last = (from + bytes) / page * page;
        if (first >= last) {
            if (!content) std::memset(at, 0, bytes);
            return;
        }
        if (!content) {
            std::memset(at, 0, first - from);
            std::memset(reinterpret_cast<void*>(last), 0, from + bytes - last);
        }
        madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    };
    wipe(reinterpret_cast<void*>(begin), size, true);
    wipe(written(begin), size, false);

    auto next = holes_.lower_bound(begin);
    if (next != holes_.end() && next->first == begin + size) {
        size += next->second;
        next = holes_.erase(next);
    }
    if (next != holes_.begin() && std::prev(next)->first + std::prev(next)->second == begin)
        std::prev(next)->second += size;
    else holes_[begin] = size;
    return true;
}

Allocation Memory::find(std::uintptr_t address) const {
    const std::shared_lock lock(mutex_);
    auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) return {};
    const Allocation& candidate = std::prev(after)->second;
    return candidate.contains(address) ? candidate : Allocation{};
}

Allocation Memory::nearest(std::uintptr_t address) const {
    const std::shared_lock lock(mutex_);
    if (allocations_.empty()) return {};
    const auto after = allocations_.upper_bound(address);
    if (after == allocations_.begin()) return after->second;
    const Allocation& before = std::prev(after)->second;
    if (after == allocations_.end() || before.contains(address) ||
        address - before.end() <= after->second.begin - address)
        return before;
    return after->second;
}

std::string bytes_in_words(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

std::string Memory::neighbourhood(std::uintptr_t address) const {
    if (address < 4096) return "a null pointer";
    if (!in_arena(address)) return "which is no device memory, but an address of the host or a pointer without a value";
    const Allocation near = nearest(address);
    {
        const std::shared_lock lock(mutex_);
        const auto after = holes_.upper_bound(address);
        const bool in_hole = after != holes_.begin() && address - std::prev(after)->first < std::prev(after)->second;
        if (in_hole && address < highest_) return "in memory that has been freed";
    }
    if (!near.begin) return "and nothing is allocated";
    return (near.contains(address)  ? "across the end of "
            : address >= near.end() ? bytes_in_words(address - near.end()) + " behind the end of "
                                    : bytes_in_words(near.begin - address) + " before the beginning of ") +
           (near.name.empty() ? "an allocation" : near.name) + " of " + bytes_in_words(near.size);
}

std::size_t Memory::used() const {
    const std::shared_lock lock(mutex_);
    return used_;
}

} // namespace cuda_emulator
