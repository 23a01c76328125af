#include "gpulab/image/image.hpp"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <string_view>

#include "gpulab/error.hpp"
#include "gpulab/input_file.hpp"

namespace gpulab {

namespace {

std::uint32_t big_endian(std::string_view bytes, std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

/// A file that libpng reads, which reports a fault by calling a function that must not return. C code lies in between,
/// so that function leaves it by longjmp(), and run() turns the fault into its result. What run() calls therefore keeps
/// no object with a destructor: all of them live here, outside of the jump.
struct Reading {
    std::jmp_buf back;
    std::array<char, 200> fault{};
    bool out_of_memory = false;
    png_structp png = nullptr;
    png_infop info = nullptr;
    std::string_view file;
    bool numbers; // the numbers in the file are wanted, not colours
    std::size_t at = 0;
    bool truncated = false;
    std::size_t width = 0, height = 0, row_bytes = 0;
    int colour = 0, depth = 0, channels = 0;
    bool has_transparency = false;
    std::array<unsigned char, 256 * 4> palette{}; // RGBA
    std::size_t colours = 0;
    std::vector<unsigned char> pixels; // as libpng gives them: a palette's are still indices
    std::vector<png_bytep> rows;

    Reading(std::string_view f, bool as_numbers) : file(f), numbers(as_numbers) {
        // A warning is a fault, too: what libpng would mend by guessing is not read.
        png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, this, stop, stop, this, take, give);
        if (png) info = png_create_info_struct(png);
        if (!info) throw std::bad_alloc();
    }
    ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    static void stop(png_structp png, png_const_charp message) {
        auto& reading = *static_cast<Reading*>(png_get_error_ptr(png));
        std::strncpy(reading.fault.data(), message, reading.fault.size() - 1);
        std::longjmp(reading.back, 1);
    }
    static void* take(png_structp png, png_alloc_size_t bytes) {
        void* const memory = std::malloc(bytes);
        if (!memory) static_cast<Reading*>(png_get_mem_ptr(png))->out_of_memory = true;
        return memory;
    }
    static void give(png_structp, void* memory) { std::free(memory); }

    /// Calls a function below. @return false when libpng found a fault
    bool run(void (Reading::*step)()) {
        if (setjmp(back) != 0) return false;
        (this->*step)();
        return true;
    }

    static void next(png_structp png, png_bytep to, std::size_t bytes) {
        auto& reading = *static_cast<Reading*>(png_get_io_ptr(png));
        if (bytes > reading.file.size() - reading.at) {
            reading.truncated = true;
            png_error(png, "is truncated");
        }
        std::memcpy(to, reading.file.data() + reading.at, bytes);
        reading.at += bytes;
    }

    void read_header() {
        png_set_read_fn(png, this, next);
        png_set_benign_errors(png, 0);
        png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF);
        png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1); // text, times, colour profiles
        png_read_info(png, info);
        png_uint_32 w = 0, h = 0;
        png_get_IHDR(png, info, &w, &h, &depth, &colour, nullptr, nullptr, nullptr);
        width = w;
        height = h;
        has_transparency = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
        if (colour == PNG_COLOR_TYPE_PALETTE) read_palette();
        if (colour == PNG_COLOR_TYPE_PALETTE || numbers) {
            png_set_packing(png); // an index is one byte
        } else {
            if (depth == 16) png_set_scale_16(png);
            if (depth < 8) png_set_expand_gray_1_2_4_to_8(png);
            if (has_transparency) png_set_tRNS_to_alpha(png);
        }
        png_set_interlace_handling(png);
        png_read_update_info(png, info);
        row_bytes = png_get_rowbytes(png, info);
        channels = png_get_channels(png, info);
    }

    void read_palette() {
        png_colorp list = nullptr;
        int n = 0, with_alpha = 0;
        png_get_PLTE(png, info, &list, &n);
        png_bytep alpha = nullptr;
        png_get_tRNS(png, info, &alpha, &with_alpha, nullptr);
        colours = static_cast<std::size_t>(n);
        for (std::size_t i = 0; i < colours; ++i) {
            const bool has_alpha = alpha && i < static_cast<std::size_t>(with_alpha);
            unsigned char* const rgba = palette.data() + 4 * i;
            rgba[0] = list[i].red;
            rgba[1] = list[i].green;
            rgba[2] = list[i].blue;
            rgba[3] = has_alpha ? alpha[i] : static_cast<unsigned char>(255);
        }
    }

    void read_pixels() {
        png_read_image(png, rows.data());
        png_read_end(png, nullptr); // what follows is no part of the picture
    }
};

/// What libpng takes although the standard forbids it, or "". @param most bytes of a palette
/// @pre a file that libpng has read
std::string fault_of_chunks(std::string_view file, std::size_t most) {
    bool pixels = false;
    for (std::size_t at = 8; at + 12 <= file.size(); at += 12 + std::size_t{big_endian(file, at)}) {
        const std::string_view type = file.substr(at + 4, 4);
        if (type == "IEND") break;
        if (type == "IDAT") pixels = true;
        if (type == "tRNS" && pixels) return "tRNS after IDAT";
        if (type == "PLTE" && big_endian(file, at) > most) return "PLTE: more colours than the pixels can count";
    }
    return "";
}

/// Reads the file's text. @param numbers_of what the numbers of a grey or an indexed picture mean, when they are wanted
/// as they are in the file; otherwise empty. @throws std::bad_alloc
Image decode(const std::string& path, const std::string& file, const std::string& numbers_of) {
    if (!std::string_view(file).starts_with("\x89PNG\r\n\x1a\n"))
        throw UsageError(fmt::format("{}: is not a PNG file", path));
    if (file.size() < 33) throw UsageError(fmt::format("{}: is truncated", path)); // signature and header
    if (file.compare(12, 4, "CgBI") == 0)
        throw UsageError(fmt::format("{}: is no PNG but Apple's variant of it (CgBI), as in programs for iPhones; "
                                     "pngcrush -revert-iphone-optimizations converts it",
                                     path));
    if (file.compare(12, 4, "IHDR") != 0) throw UsageError(fmt::format("{}: is damaged: no IHDR at its start", path));
    const std::uint32_t width = big_endian(file, 16), height = big_endian(file, 20);
    if (width == 0 || height == 0) throw UsageError(fmt::format("{}: has no pixels", path));
    // Room for four channels, because a palette may hide them.
    if (std::uint64_t{width} * height > max_png_bytes / 4)
        throw UsageError(fmt::format("{}: {} x {} pixels are too many; {} is the most that is read here", path, width,
                                     height, max_png_bytes / 4));

    const bool numbers = !numbers_of.empty();
    Reading r(file, numbers);
    const auto check = [&](bool good) {
        if (good) return;
        if (r.out_of_memory) throw std::bad_alloc();
        if (r.truncated) throw UsageError(fmt::format("{}: is truncated", path));
        throw UsageError(fmt::format("{}: is damaged: {}", path, r.fault.data()));
    };
    check(r.run(&Reading::read_header));
    const bool grey = r.colour == PNG_COLOR_TYPE_GRAY && r.depth <= 8;
    if (numbers && !grey && r.colour != PNG_COLOR_TYPE_PALETTE)
        throw UsageError(fmt::format("{}: an 8-bit grey or an indexed PNG is needed, whose values are numbers of {}",
                                     path, numbers_of));
    r.pixels.resize(r.row_bytes * r.height);
    r.rows.resize(r.height);
    for (std::size_t y = 0; y < r.height; ++y) r.rows[y] = r.pixels.data() + y * r.row_bytes;
    check(r.run(&Reading::read_pixels));
    const std::size_t most = r.colour == PNG_COLOR_TYPE_PALETTE ? std::size_t{3} << r.depth : 768;
    if (const std::string fault = fault_of_chunks(file, most); !fault.empty())
        throw UsageError(fmt::format("{}: is damaged: {}", path, fault));

    Image image{r.width, r.height, r.channels, {}};
    if (r.colour == PNG_COLOR_TYPE_PALETTE)
        for (const unsigned char index : r.pixels)
            if (index >= r.colours)
                throw UsageError(fmt::format("{}: is damaged: colour {} of a palette of {}", path, index, r.colours));
    if (numbers || r.colour != PNG_COLOR_TYPE_PALETTE) {
        image.pixels = std::move(r.pixels);
        return image;
    }
    image.channels = r.has_transparency ? 4 : 3;
    image.pixels.resize(image.bytes());
    const auto channels = static_cast<std::size_t>(image.channels);
    for (std::size_t i = 0; i < r.pixels.size(); ++i)
        std::copy_n(r.palette.begin() + 4 * r.pixels[i], channels,
                    image.pixels.begin() + static_cast<std::ptrdiff_t>(channels * i));
    return image;
}

} // namespace

Image read_png(const std::string& path) { return read_png_numbers(path, ""); }

Image read_png_numbers(const std::string& path, const std::string& of) try {
    return decode(path, content_of(path, 2 * max_png_bytes), of);
} catch (const std::bad_alloc&) {
    throw cannot_read(path, "there is not enough main memory");
}

std::string encoded_png(const Image& image) {
    if (image.pixels.size() != image.bytes()) throw Error("the size of the image does not match its pixels");
    constexpr png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
    png_image picture{};
    picture.version = PNG_IMAGE_VERSION;
    picture.width = static_cast<png_uint_32>(image.width);
    picture.height = static_cast<png_uint_32>(image.height);
    picture.format = formats[image.channels - 1];
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(picture); // it cannot be larger
    std::string content(bytes, '\0');
    if (!png_image_write_to_memory(&picture, content.data(), &bytes, 0, image.pixels.data(), 0, nullptr))
        throw Error(fmt::format("the image could not be encoded: {}", picture.message));
    content.resize(bytes);
    return content;
}

void write_png(OutputFile& file, const Image& image) {
    if (image.bytes() == 0)
        throw UsageError(fmt::format("{}: an image without pixels cannot be a PNG file", file.path()));
    if (image.bytes() > max_png_bytes)
        throw UsageError(fmt::format("{}: {} bytes of pixels are too many; {} is the most that is written here",
                                     file.path(), image.bytes(), max_png_bytes));
    file.write(encoded_png(image));
}

} // namespace gpulab
