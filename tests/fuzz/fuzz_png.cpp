// libFuzzer target: whatever bytes read_png() is given, it returns an image that is written and read again the same, or
// throws an error of one line. read_png_numbers() takes the same files, less those that hold no numbers, and its
// numbers are the values in the file. The first byte chooses: the rest is a file; or it is a header and chunks that get
// right checksums and, for image data, right compression, because random bytes never have them.
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "fuzzed_file.hpp"
#include "gpulab/image/image.hpp"
#include "tests/support/gpulab_testing/png.hpp"

using gpulab::testing::png_chunk;

namespace {

std::string compressed(const std::string& data) {
    std::string packed(compressBound(data.size()), '\0');
    uLongf size = packed.size();
    compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(data.data()), data.size());
    packed.resize(size);
    return packed;
}

std::string file_of(std::string_view in) {
    if (in.size() < 14 || in[0] % 4 == 0) return std::string(in.substr(in.empty() ? 0 : 1));
    std::string file = "\x89PNG\r\n\x1a\n";
    std::string header(in.substr(1, 13));
    header[0] = header[1] = header[4] = header[5] = 0; // below 65536 pixels wide and high
    file += png_chunk("IHDR", header);
    in.remove_prefix(14);
    while (in.size() >= 2) {
        constexpr const char* types[] = {"IDAT", "PLTE", "tRNS", "IDAT", "tEXt", "gAMA", "sBIT", "bKGD",
                                         "iCCP", "acTL", "ABCD", "IEND", "hIST", "eXIf", "pHYs", "zTXt"};
        const auto kind = static_cast<unsigned char>(in[0]);
        const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(in[1]), in.size() - 2);
        std::string data(in.substr(2, length));
        if (kind & 16) data.append(std::size_t{kind} * 8, '\0'); // rows of zeros
        if (kind & 32) data = compressed(data);
        if (kind & 64 && !data.empty()) { // in two chunks
            file += png_chunk(types[kind % 16], data.substr(0, data.size() / 2));
            data.erase(0, data.size() / 2);
        }
        file += png_chunk(types[kind % 16], data);
        in.remove_prefix(2 + length);
    }
    return file + png_chunk("IEND", "");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string file = file_of({reinterpret_cast<const char*>(data), size});
    if (file.size() >= 24) { // a large image takes long, and finds nothing that a small one does not
        std::uint32_t sides[2] = {};
        for (std::size_t i = 0; i < 8; ++i) sides[i / 4] = sides[i / 4] << 8 | static_cast<unsigned char>(file[16 + i]);
        if (std::uint64_t{sides[0]} * sides[1] > 1 << 16 && std::uint64_t{sides[0]} * sides[1] <= 1u << 28) return 0;
    }
    fuzz::write_file(file);
    const std::string& name = fuzz::file_name();
    gpulab::Image image, numbers;
    const bool read = fuzz::accepts([&] { image = gpulab::read_png(name); }, name);
    const bool has_numbers = fuzz::accepts([&] { numbers = gpulab::read_png_numbers(name, "things"); }, name);
    fuzz::require(read || !has_numbers, "numbers in a file that is no picture");
    if (!read) return 0;
    fuzz::require(image.bytes() > 0 && image.pixels.size() == image.bytes(), "the pixels are not those of the size");
    const auto depth = static_cast<unsigned char>(file[24]), colour = static_cast<unsigned char>(file[25]);
    fuzz::require(has_numbers == ((colour == 0 && depth <= 8) || colour == 3), "numbers or none");
    if (has_numbers) {
        fuzz::require(numbers.width == image.width && numbers.height == image.height && numbers.channels == 1 &&
                          numbers.pixels.size() == numbers.bytes(),
                      "the numbers are not those of the size");
        for (std::size_t i = 0; i < numbers.pixels.size(); ++i) {
            const unsigned number = numbers.pixels[i], most = (1u << depth) - 1;
            fuzz::require(number <= most, "a number of more bits than the file has");
            fuzz::require(colour == 3 ||
                              image.pixels[i * static_cast<std::size_t>(image.channels)] == number * 255 / most,
                          "a grey that is another number");
        }
    }
    fuzz::write_file(gpulab::encoded_png(image));
    const gpulab::Image again = gpulab::read_png(fuzz::file_name());
    fuzz::require(again.width == image.width && again.height == image.height && again.channels == image.channels &&
                      again.pixels == image.pixels,
                  "written and read again it is another image");
    return 0;
}
