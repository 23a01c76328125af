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

gpulab::Comparison compare(const Output& reference, const Output& out) {
    return gpulab::compare(reference.pixels, out.pixels, 0);
}

std::span<const gpulab::Variant<Run>> variants() {
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function), function, __VA_ARGS__)
    static constexpr gpulab::Variant<Run> table[] = {
#include "rungs.inc"
    };
    return table;
}

} // namespace streams
