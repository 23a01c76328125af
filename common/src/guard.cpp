#include "gpulab/guard.hpp"

#include <cstdlib>
#include <fmt/format.h>

#include "gpulab/error.hpp"
#include "gpulab/math.hpp"

namespace gpulab {

std::size_t guard_bytes() {
    static const std::size_t bytes = [] {
        const char* text = std::getenv("GPULAB_GUARD_BYTES");
        return text ? round_up(std::strtoull(text, nullptr, 10), 512) : std::size_t{4096};
    }();
    return bytes;
}

void check_guards(const unsigned char* before, const unsigned char* after, std::size_t bytes,
                  std::size_t element_bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
        if (after[i] != guard_byte)
            throw WrongResult(fmt::format("the kernel wrote past the end of its output ({} elements past the last)",
                                          i / element_bytes + 1));
    for (std::size_t i = bytes; i-- > 0;)
        if (before[i] != guard_byte)
            throw WrongResult(fmt::format("the kernel wrote before the start of its output ({} elements before)",
                                          (bytes - 1 - i) / element_bytes + 1));
}

} // namespace gpulab
