#include "frames.hpp"

#include <cmath>
#include <cstdint>
#include <zlib.h>

#include "gpulab/error.hpp"

namespace fdtd {

double largest(const Snapshot& snapshot) {
    double most = 0;
    for (const float x : snapshot.values)
        if (std::isfinite(x)) most = std::max(most, std::abs(static_cast<double>(x)));
    return most;
}

void colour(double share, unsigned char* rgb) {
    if (std::isnan(share)) {
        rgb[0] = rgb[1] = rgb[2] = 0;
        return;
    }
    // Three colours on each side of white, with evenly growing darkness, straight lines between them.
    constexpr double blue[4][3] = {{247, 247, 247}, {146, 197, 222}, {33, 102, 172}, {5, 48, 97}};
    constexpr double red[4][3] = {{247, 247, 247}, {244, 165, 130}, {178, 24, 43}, {103, 0, 31}};
    const auto& stops = share < 0 ? blue : red;
    const double at = 3 * std::min(std::abs(share), 1.0);
    const auto low = std::min<std::size_t>(static_cast<std::size_t>(at), 2);
    const double part = at - static_cast<double>(low);
    for (std::size_t c = 0; c < 3; ++c)
        rgb[c] = static_cast<unsigned char>(std::lround(stops[low][c] * (1 - part) + stops[low + 1][c] * part));
}

gpulab::Image draw(const Scene& scene, const Snapshot& snapshot, double scale) {
    const std::size_t nx = scene.nx, ny = scene.ny;
    const std::size_t zoom = pixels_of_cell(nx, ny);
    gpulab::Image image{nx * zoom, ny * zoom, 3, {}};
    image.pixels.resize(image.bytes());
    const auto material = [&](std::size_t i, std::size_t j) { return scene.map.empty() ? 0 : scene.map[j * nx + i]; };
    const auto depth = [](const Side& side) { return side.kind == Side::Kind::pml ? side.cells : 0; };
    const std::size_t left = depth(scene.left), right = nx - depth(scene.right), bottom = depth(scene.bottom),
                      top = ny - depth(scene.top);
    for (std::size_t j = 0; j < ny; ++j)
        for (std::size_t i = 0; i < nx; ++i) {
            unsigned char rgb[3];
            colour(static_cast<double>(snapshot.values[j * nx + i]) / scale, rgb);
            const bool outline = (i + 1 < nx && material(i, j) != material(i + 1, j)) ||
                                 (j + 1 < ny && material(i, j) != material(i, j + 1));
            const bool layer = ((i == left && left > 0) || (i + 1 == right && right < nx) ||
                                (j == bottom && bottom > 0) || (j + 1 == top && top < ny)) &&
                               i >= left && i < right && j >= bottom && j < top && (i + j) % 4 < 2;
            if (outline || layer)
                for (unsigned char& c : rgb) c = static_cast<unsigned char>(c / 2);
            for (std::size_t b = 0; b < zoom; ++b)
                for (std::size_t a = 0; a < zoom; ++a) {
                    const std::size_t y = image.height - 1 - (j * zoom + b), x = i * zoom + a;
                    std::copy(rgb, rgb + 3, &image.pixels[(y * image.width + x) * 3]);
                }
        }
    return image;
}

namespace {

void add_number(std::string& to, std::uint32_t x, int bytes = 4) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to += static_cast<char>(x >> shift & 0xFF);
}

void add_chunk(std::string& to, const char* type, const std::string& data) {
    add_number(to, static_cast<std::uint32_t>(data.size()));
    const std::string checked = type + data;
    to += checked;
    add_number(to, static_cast<std::uint32_t>(
                       crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()))));
}

/// The chunks of one type in a PNG file, one after the other.
std::string chunks_of(const std::string& png, const std::string& type) {
    std::string all;
    for (std::size_t at = 8; at + 12 <= png.size();) {
        std::uint32_t length = 0;
        for (std::size_t k = 0; k < 4; ++k) length = length << 8 | static_cast<unsigned char>(png[at + k]);
        if (png.compare(at + 4, 4, type) == 0) all += png.substr(at + 8, length);
        at += length + 12;
    }
    return all;
}

} // namespace

// An APNG is a PNG whose further pictures are in chunks that other readers skip (APNG specification, PNG third
// edition): acTL announces the number of pictures, fcTL the size and time of each, fdAT is an IDAT with a number in
// front. fcTL and fdAT are numbered together from 0. The compressed pixels come from gpulab::encoded_png().
Animation::Animation(std::size_t pictures, unsigned delay_ms) : pictures_(pictures), delay_ms_(delay_ms) {}

std::string Animation::next(const std::string& png) {
    if (done_ == pictures_) throw gpulab::Error("an animation has more pictures than were announced");
    std::string part;
    const std::string header = chunks_of(png, "IHDR"), data = chunks_of(png, "IDAT");
    if (done_ == 0) {
        header_ = header;
        part = png.substr(0, 8); // the signature
        add_chunk(part, "IHDR", header);
        std::string control;
        add_number(control, static_cast<std::uint32_t>(pictures_));
        add_number(control, 0); // for ever
        add_chunk(part, "acTL", control);
    }
    if (header != header_) throw gpulab::Error("the pictures of an animation differ in size");
    std::string frame;
    add_number(frame, sequence_++);
    frame += header.substr(0, 8); // width and height
    add_number(frame, 0);         // its place
    add_number(frame, 0);
    add_number(frame, delay_ms_, 2);
    add_number(frame, 1000, 2);
    frame += '\0'; // leave it, replace what is there
    frame += '\0';
    add_chunk(part, "fcTL", frame);
    if (done_ == 0) {
        add_chunk(part, "IDAT", data);
    } else {
        std::string numbered;
        add_number(numbered, sequence_++);
        add_chunk(part, "fdAT", numbered + data);
    }
    if (++done_ == pictures_) add_chunk(part, "IEND", "");
    return part;
}

} // namespace fdtd
