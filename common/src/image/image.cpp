#include "gpulab/image/image.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string_view>

#include "gpulab/error.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
// The decoder doubles its buffer for as long as the compressed data gives bytes, whatever size the header announced. So
// its memory comes from here, where a request beyond what the image can need is refused.
namespace {
thread_local std::size_t most_decoder_bytes = 0; // of a single request
thread_local bool decoder_was_refused = false;

void* decoder_realloc(void* old, std::size_t bytes) {
    if (bytes > most_decoder_bytes) {
        decoder_was_refused = true;
        return nullptr;
    }
    return std::realloc(old, bytes);
}
} // namespace
#define STBI_MALLOC(size) decoder_realloc(nullptr, size)
#define STBI_REALLOC(old, size) decoder_realloc(old, size)
#define STBI_FREE(old) std::free(old)
#include <stb_image.h>
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb_image_write.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace gpulab {

namespace {

std::string file_content(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
        throw UsageError(fmt::format("{}: is not a regular file", path)); // a pipe or a device may never end
    const auto close = [](std::FILE* f) { std::fclose(f); };
    errno = 0;
    const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
    if (!file) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
    std::string content;
    std::array<char, 65536> part;
    while (const std::size_t got = std::fread(part.data(), 1, part.size(), file.get())) {
        content.append(part.data(), got);
        if (content.size() > 2 * most_png_bytes) throw UsageError(fmt::format("{}: is larger than 1 GiB", path));
    }
    if (std::ferror(file.get())) throw UsageError(fmt::format("{}: {}", path, std::strerror(errno)));
    return content;
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

/// The checksum of a PNG chunk: CRC-32 with the reflected polynomial EDB88320 (PNG specification, annex D).
std::uint32_t crc32(std::string_view bytes) {
    static const auto table = [] {
        std::array<std::uint32_t, 256> t{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t c = i;
            for (int bit = 0; bit < 8; ++bit) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
            t[i] = c;
        }
        return t;
    }();
    std::uint32_t c = 0xFFFFFFFFu;
    for (const char byte : bytes) c = table[(c ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (c >> 8);
    return ~c;
}

/// Walks the chunks from the signature to IEND.
void check_chunks(const std::string& path, std::string_view file) {
    const auto wrong = [&](std::string_view what) { return UsageError(fmt::format("{}: {}", path, what)); };
    if (!file.starts_with("\x89PNG\r\n\x1a\n")) throw wrong("is not a PNG file");
    std::size_t at = 8;
    for (bool first = true;; first = false) {
        if (file.size() - at < 12) throw wrong("is truncated");
        const std::size_t length = big_endian(file, at);
        const std::string_view type = file.substr(at + 4, 4);
        if (first && (type != "IHDR" || length != 13)) throw wrong("is damaged: it does not begin with a header");
        if (length > file.size() - at - 12) throw wrong("is truncated");
        if (crc32(file.substr(at + 4, length + 4)) != big_endian(file, at + 8 + length))
            throw wrong(fmt::format("is damaged: wrong checksum at byte {}", at));
        if (type == "IEND") return;
        at += length + 12;
    }
}

/// Fills a palette up to 256 colours with black ones: the decoder leaves those that are missing unset, and a damaged
/// file may use them. @pre check_chunks(): the chunks are whole
void fill_palette(std::string& file) {
    for (std::size_t at = 8; file.compare(at + 4, 4, "IEND") != 0;) {
        const std::size_t length = big_endian(file, at);
        if (file.compare(at + 4, 4, "PLTE") == 0 && length < 768) {
            file.insert(at + 8 + length, 768 - length, '\0');
            file[at + 2] = 3, file[at + 3] = 0; // its length now: 768; the decoder does not look at the checksum
            return;
        }
        at += length + 12;
    }
}

} // namespace

Image read_png(const std::string& path) {
    std::string file = file_content(path);
    check_chunks(path, file);
    if (file[25] == 3) fill_palette(file);
    const std::uint32_t announced_width = big_endian(file, 16), announced_height = big_endian(file, 20);
    if (announced_width == 0 || announced_height == 0) throw UsageError(fmt::format("{}: has no pixels", path));
    if (file[24] == 16)
        throw UsageError(fmt::format("{}: has 16 bits per channel; 8 is the most that is read here", path));
    // Room for four channels, because a palette may hide them.
    if (std::uint64_t{announced_width} * announced_height > most_png_bytes / 4)
        throw UsageError(fmt::format("{}: {} x {} pixels are too many; {} is the most that is read here", path,
                                     announced_width, announced_height, most_png_bytes / 4));
    constexpr std::uint32_t most_side = 1u << 24; // the decoder's own limit
    if (announced_width > most_side || announced_height > most_side)
        throw UsageError(fmt::format("{}: {} x {} pixels are too many; {} is the longest side that is read here", path,
                                     announced_width, announced_height, most_side));
    // Its requests: the compressed data; the rows with a filter byte each (twice as much when interlaced, because it
    // doubles); the pixels. The first two may be rounded up to twice their size.
    const std::size_t pixels = std::size_t{announced_width} * announced_height;
    most_decoder_bytes = std::max(2 * file.size(), 2 * (4 * pixels + announced_height)) + 65536;
    decoder_was_refused = false;
    int width = 0, height = 0, channels = 0;
    const std::unique_ptr<stbi_uc, void (*)(void*)> decoded(
        stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(file.data()), static_cast<int>(file.size()), &width,
                              &height, &channels, 0),
        stbi_image_free);
    if (!decoded && decoder_was_refused)
        throw UsageError(fmt::format("{}: is damaged: its data is more than the {} x {} pixels that it announces", path,
                                     announced_width, announced_height));
    if (!decoded) throw UsageError(fmt::format("{}: is damaged: {}", path, stbi_failure_reason()));
    Image image;
    image.width = static_cast<std::size_t>(width);
    image.height = static_cast<std::size_t>(height);
    image.channels = channels;
    image.pixels.assign(decoded.get(), decoded.get() + image.bytes());
    return image;
}

std::string encoded_png(const Image& image) {
    if (image.pixels.size() != image.bytes()) throw Error("the size of the image does not match its pixels");
    std::string content;
    const auto append = [](void* to, void* data, int size) {
        static_cast<std::string*>(to)->append(static_cast<const char*>(data), static_cast<std::size_t>(size));
    };
    if (!stbi_write_png_to_func(append, &content, static_cast<int>(image.width), static_cast<int>(image.height),
                                image.channels, image.pixels.data(), static_cast<int>(image.row_bytes())))
        throw Error("the image could not be encoded");
    return content;
}

void write_png(OutputFile& file, const Image& image) {
    if (image.bytes() == 0)
        throw UsageError(fmt::format("{}: an image without pixels cannot be a PNG file", file.path()));
    if (image.bytes() > most_png_bytes)
        throw UsageError(fmt::format("{}: {} bytes of pixels are too many; {} is the most that is written here",
                                     file.path(), image.bytes(), most_png_bytes));
    file.write(encoded_png(image));
}

} // namespace gpulab
