/// @file
/// Which device buffers hold a copy of a host array, so that somebody can change an input between two runs of a kernel.
#pragma once

#include <cstddef>
#include <functional>
#include <map>

namespace gpulab {

/// The device buffers that were made from host arrays while `input_copies` named this list.
class InputCopies {
public:
    /// Writes bytes into a buffer, from an offset in bytes on; blocking.
    using Write = std::function<void(std::size_t offset, const void* from, std::size_t bytes)>;

    /// @param host the array that the buffer was made from
    void add(const void* host, Write write) { writes_.emplace(host, std::move(write)); }

    /// Writes bytes into the buffers that were made from an array.
    /// @return whether there is such a buffer
    bool write(const void* host, std::size_t offset, const void* from, std::size_t bytes) const {
        const auto [begin, end] = writes_.equal_range(host);
        for (auto one = begin; one != end; ++one) one->second(offset, from, bytes);
        return begin != end;
    }

    void (*forget_l2)() = nullptr; ///< makes what persists in a GPU's L2 cache ordinary; set by the first CUDA buffer

private:
    std::multimap<const void*, Write> writes_;
};

/// Where buffers note that they were made from a host array. Null where nobody wants to know.
inline thread_local InputCopies* input_copies = nullptr;

} // namespace gpulab
