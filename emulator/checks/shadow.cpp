#include "checks/shadow.hpp"

#include <stdexcept>
#include <sys/mman.h>

namespace cuda_emulator {

Zeros::Zeros(std::size_t bytes)
    : at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
      bytes_(bytes) {
    if (at_ == MAP_FAILED) throw std::runtime_error("the address space is too small for checks of races");
}

Zeros::~Zeros() { munmap(at_, bytes_); }

GlobalCells::GlobalCells(const Memory& memory)
    : base_(memory.shared_window() + Memory::window), records_{Zeros(4 * memory.capacity()),
                                                               Zeros(4 * memory.capacity()),
                                                               Zeros(4 * memory.capacity()),
                                                               Zeros(16 * memory.capacity()),
                                                               Zeros(16 * memory.capacity()),
                                                               Zeros(16 * memory.capacity())},
      bytes_used_(memory.capacity() / piece * sizeof(std::uint32_t)) {
    words = {records_[0].as<Record>(), records_[1].as<Record>(), records_[2].as<Record>()};
    bytes = {records_[3].as<Record>(), records_[4].as<Record>(), records_[5].as<Record>()};
}

void SharedCells::resize(std::size_t bytes_wanted) {
    if (bytes_wanted <= size_) return;
    size_ = (bytes_wanted + 15) / 16 * 16;
    const std::size_t n = size_ / 4;
    records_.assign(3 * n, {});
    words = {records_.data(), records_.data() + n, records_.data() + 2 * n};
    byte_records_.clear();
    bytes = {};
}

void SharedCells::use_bytes() {
    if (uses_bytes()) return;
    byte_records_.assign(3 * size_, {});
    bytes = {byte_records_.data(), byte_records_.data() + size_, byte_records_.data() + 2 * size_};
}

} // namespace cuda_emulator
