#include "streams.hpp"

#include <algorithm>
#include <array>

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "rungs.hpp"

namespace streams {

void poison(Output& out) {
    gpulab::poison(out.pixels);
    out.timeline.clear();
    out.traced_ms = 0;
}

gpulab::Image random_image(std::size_t width, std::size_t height, int channels, std::uint64_t seed) {
    gpulab::Image image{width, height, channels, {}};
    image.pixels.resize(image.bytes());
    for (std::size_t i = 0; i < image.pixels.size(); i += 8) {
        const std::uint64_t bits = gpulab::random_bits(seed, i / 8);
        for (std::size_t j = i; j < std::min(i + 8, image.pixels.size()); ++j)
            image.pixels[j] = static_cast<unsigned char>(bits >> 8 * (j - i));
    }
    return image;
}

Output reference_output(const Problem& p) {
    std::array<unsigned char, 256> after{}; // the result for each value of a colour byte
    for (int before = 0; before < 256; ++before) {
        int v = before;
        for (unsigned round = 0; round < p.work; ++round) {
            v = (181 * v + 97) % 256;
            v = v ^ (v / 8);
        }
        after[static_cast<std::size_t>(before)] = static_cast<unsigned char>(255 - v);
    }
    // The last channel of two or of four is alpha, which stays.
    const std::size_t channels = static_cast<std::size_t>(p.image.channels), colours = channels - (channels % 2 == 0);
    Output out{p.image.pixels, {}, 0};
    for (std::size_t c = 0; c < colours; ++c)
        for (std::size_t i = c; i < out.pixels.size(); i += channels) out.pixels[i] = after[out.pixels[i]];
    return out;
}

void transform_rows(const Problem& p, Output& out, std::size_t first_row, std::size_t last_row) {
    const auto channels = static_cast<std::size_t>(p.image.channels);
    const std::size_t end = last_row * p.image.row_bytes();
    for (std::size_t i = first_row * p.image.row_bytes(); i < end; i += channels)
        for (std::size_t c = 0; c < channels; ++c) {
            unsigned char v = p.image.pixels[i + c];
            const bool alpha = p.image.has_alpha() && c + 1 == channels;
            if (!alpha) {
                for (unsigned round = 0; round < p.work; ++round) v = work_round(v);
                v = static_cast<unsigned char>(255 - v);
            }
            out.pixels[i + c] = v;
        }
}

std::vector<Strip> equal_strips(const gpulab::Image& image, std::size_t count) {
    const std::size_t strips = std::min(count, image.height);
    std::vector<Strip> list;
    for (std::size_t i = 0; i < strips; ++i) {
        const std::size_t begin = image.height * i / strips, end = image.height * (i + 1) / strips;
        list.push_back({begin * image.row_bytes(), (end - begin) * image.row_bytes()});
    }
    return list;
}

std::vector<Strip> growing_strips(const gpulab::Image& image, std::size_t count, std::size_t last_to_first) {
    const std::size_t strips = std::min(count, image.height);
    // Strip j of n has the weight 2 (n - 1) + 2 (r - 1) j, from 2 (n - 1) to r times that. The sum of the first i
    // weights:
    const auto weight = [&](std::size_t i) {
        return strips == 1 ? i : 2 * (strips - 1) * i + (last_to_first - 1) * (i - 1) * i;
    };
    std::vector<Strip> list;
    for (std::size_t i = 0; i < strips; ++i) {
        const std::size_t begin = image.height * weight(i) / weight(strips);
        const std::size_t end = image.height * weight(i + 1) / weight(strips);
        if (end > begin) list.push_back({begin * image.row_bytes(), (end - begin) * image.row_bytes()});
    }
    return list;
}

gpulab::Comparison compare(const Output& reference, const Output& out) {
    return gpulab::compare(reference.pixels, out.pixels, 0);
}

std::span<const gpulab::Variant<Run>> variants() {
    using enum gpulab::Backend;
    static constexpr std::array table = {
        gpulab::Variant<Run>{"cpu_sequential", "one loop on one core", cpu, cpu_sequential},
        gpulab::Variant<Run>{"cpu_threads", "one thread per core, each with a band of rows", cpu, cpu_threads},
        gpulab::Variant<Run>{"opencl_in_order", "one in-order queue: strip up, kernel, strip down", opencl,
                             GPULAB_IF_OPENCL(opencl_in_order)},
        gpulab::Variant<Run>{"opencl_queues", "a queue for each strip", opencl, GPULAB_IF_OPENCL(opencl_queues)},
        gpulab::Variant<Run>{"opencl_pinned", "a queue for each strip, page-locked host memory", opencl,
                             GPULAB_IF_OPENCL(opencl_pinned)},
        gpulab::Variant<Run>{"cuda_sync_pageable", "strip up, kernel, strip down; the host waits for each copy", cuda,
                             GPULAB_IF_CUDA(cuda_sync_pageable)},
        gpulab::Variant<Run>{"cuda_sync_pinned", "the same from page-locked memory", cuda,
                             GPULAB_IF_CUDA(cuda_sync_pinned)},
        gpulab::Variant<Run>{"cuda_async_pageable", "a stream for each strip, but pageable memory", cuda,
                             GPULAB_IF_CUDA(cuda_async_pageable)},
        gpulab::Variant<Run>{"cuda_depth_first", "page-locked memory, a stream for each strip, strip after strip", cuda,
                             GPULAB_IF_CUDA(cuda_depth_first)},
        gpulab::Variant<Run>{"cuda_breadth_first", "the same, issued as all copies up, all kernels, all copies down",
                             cuda, GPULAB_IF_CUDA(cuda_breadth_first)},
        gpulab::Variant<Run>{"cuda_pipeline", "three streams, one per stage, joined by events", cuda,
                             GPULAB_IF_CUDA(cuda_pipeline)},
        gpulab::Variant<Run>{"cuda_mapped", "no copies: the kernel loads from and stores to host memory (zero copy)",
                             cuda, GPULAB_IF_CUDA(cuda_mapped)},
        gpulab::Variant<Run>{"cuda_mapped_write", "copies up, kernels that store to host memory", cuda,
                             GPULAB_IF_CUDA(cuda_mapped_write)},
        gpulab::Variant<Run>{"cuda_mixed", "the pipeline, and a small zero-copy kernel beside it", cuda,
                             GPULAB_IF_CUDA(cuda_mixed)},
        gpulab::Variant<Run>{"cuda_growing", "the pipeline with strips that grow", cuda, GPULAB_IF_CUDA(cuda_growing)},
        gpulab::Variant<Run>{"cuda_polling", "one copy up; the kernels see from the data what has arrived", cuda,
                             GPULAB_IF_CUDA(cuda_polling)},
    };
    return table;
}

} // namespace streams
