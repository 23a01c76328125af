/// @file
/// Variants with one classic mistake each. The tests must reject every one of them.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "gpulab_testing/wrong.hpp"
#include "streams.hpp"

namespace streams::wrong {

using WrongVariant = gpulab::testing::WrongVariant<Run>;

/// Right variants in the same harness. The checks accept them, so they reject the others only for their mistakes.
Run cpu_right, opencl_right, cuda_right, cuda_right_polling;

std::span<const WrongVariant> cpu_variants();
std::span<const WrongVariant> cuda_variants();
std::span<const WrongVariant> opencl_variants();

/// What is missing: a wait, which delayed commands make necessary, or the copies up or kernels of all later passes.
enum class Missing {
    nothing,
    kernel_waits_for_copy_up,
    copy_down_waits_for_kernel,
    host_waits_for_copy_down,
    later_copies_up,
    later_kernels
};

using Strips = std::vector<Strip>(const Problem&);

inline std::vector<Strip> right_strips(const Problem& p) { return equal_strips(p.image, p.streams); }

/// As in the lecture: height / N rows each, and the remaining rows belong to no strip.
inline std::vector<Strip> remainder_lost(const Problem& p) {
    const std::size_t bytes = p.image.height / p.streams * p.image.row_bytes();
    std::vector<Strip> list;
    for (std::size_t i = 0; bytes > 0 && i < p.streams; ++i) list.push_back({i * bytes, bytes});
    return list;
}

/// The strip's offset is counted in pixels where bytes are needed.
inline std::vector<Strip> offset_in_pixels(const Problem& p) {
    std::vector<Strip> list = right_strips(p);
    for (Strip& s : list) s.first /= static_cast<std::size_t>(p.image.channels);
    return list;
}

/// Every strip but the first begins one row too late, over the next strip's first row.
inline std::vector<Strip> one_row_late(const Problem& p) {
    std::vector<Strip> list = right_strips(p);
    for (Strip& s : list)
        if (s.first > 0) {
            s.first += p.image.row_bytes();
            s.bytes -= std::min(s.bytes, p.image.row_bytes());
        }
    std::erase_if(list, [](const Strip& s) { return s.bytes == 0; });
    return list;
}

/// Every strip has as many rows as the largest, so the last one ends beyond the image (inside the guard band).
inline std::vector<Strip> last_overruns(const Problem& p) {
    const std::size_t rows = (p.image.height + p.streams - 1) / p.streams;
    std::vector<Strip> list;
    for (std::size_t row = 0; row < p.image.height; row += rows) {
        const std::size_t first = row * p.image.row_bytes();
        list.push_back({first, std::min(rows * p.image.row_bytes(), p.bytes() - first + 2048)});
    }
    return list;
}

} // namespace streams::wrong
