#include "gpulab/guard.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <string_view>
#include <utility>

#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/options.hpp"

namespace gpulab {

std::size_t detail::guard_bytes_from(const char* text) {
    if (!text) return 4096;
    const std::int64_t requested = parse_size(text, "GPULAB_GUARD_BYTES");
    if (requested > std::int64_t{64} << 20) throw UsageError("GPULAB_GUARD_BYTES: at most 64Mi is possible");
    return round_up(static_cast<std::size_t>(requested), 512);
}

std::size_t guard_bytes() {
    static const std::size_t bytes = detail::guard_bytes_from(std::getenv("GPULAB_GUARD_BYTES"));
    return bytes;
}

bool poisons() {
    const char* const text = std::getenv("GPULAB_POISON");
    const std::string_view requested = text ? text : "1";
    if (requested != "0" && requested != "1") throw UsageError("GPULAB_POISON: 0 or 1 is possible");
    return requested == "1";
}

namespace {
std::mutex stray_mutex;
std::string stray_message;
} // namespace

void note_stray_write(const std::string& message) noexcept {
    const std::lock_guard lock(stray_mutex);
    try {
        stray_message = message;
    } catch (...) { // no memory for a copy: the fault itself must not be lost
        stray_message.assign("!");
    }
}

std::string take_stray_write() {
    const std::lock_guard lock(stray_mutex);
    return std::exchange(stray_message, {});
}

void check_guards(const unsigned char* before, const unsigned char* after, std::size_t bytes, std::size_t element_bytes,
                  unsigned char expected) {
    for (std::size_t i = 0; i < bytes; ++i)
        if (after[i] != expected)
            throw WrongResult(fmt::format("the kernel wrote past the end of a buffer ({} elements past the last)",
                                          i / element_bytes + 1));
    for (std::size_t i = bytes; i-- > 0;)
        if (before[i] != expected)
            throw WrongResult(fmt::format("the kernel wrote before the start of a buffer ({} elements before)",
                                          (bytes - 1 - i) / element_bytes + 1));
}

} // namespace gpulab
