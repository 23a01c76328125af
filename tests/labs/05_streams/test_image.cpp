// PNG files: what is written reads back the same, and a file that is not a PNG gives one clear line.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gpulab/error.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab_testing/png.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"
#include "streams.hpp"

namespace fs = std::filesystem;
using namespace gpulab::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::MessageMatches;

namespace {

/// The bytes of a right PNG.
std::string right_png(std::size_t width, std::size_t height, int channels) {
    const ScratchFile file;
    gpulab::OutputFile out(file.path());
    gpulab::write_png(out, streams::random_image(width, height, channels, 7));
    return file.text();
}

/// What read_png says about these bytes.
std::string complaint(const std::string& bytes) {
    const ScratchFile file;
    file.write(bytes);
    return message_of([&] { (void)gpulab::read_png(file.path()); });
}

/// Data as the chunks of a PNG hold it.
std::string compressed(const std::string& data) {
    uLongf size = compressBound(data.size());
    std::string packed(size, '\0');
    REQUIRE(compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(data.data()),
                      data.size(), Z_BEST_SPEED) == Z_OK);
    packed.resize(size);
    return packed;
}

/// A row with filter 0.
std::string row(const std::string& pixels) { return compressed('\0' + pixels); }

} // namespace

TEST_CASE("an image written as PNG reads back the same, at every number of channels", "[cpu]") {
    for (int channels = 1; channels <= 4; ++channels)
        for (const auto& [width, height] : {std::pair<std::size_t, std::size_t>{1, 1}, {1, 100}, {100, 1}, {67, 41}}) {
            INFO(width << " x " << height << " x " << channels);
            const gpulab::Image image = streams::random_image(width, height, channels, 3);
            const ScratchFile file;
            gpulab::OutputFile out(file.path());
            gpulab::write_png(out, image);
            const gpulab::Image again = gpulab::read_png(file.path());
            CHECK(again.width == width);
            CHECK(again.height == height);
            CHECK(again.channels == channels);
            CHECK(again.pixels == image.pixels);
        }
}

TEST_CASE("a PNG cut off anywhere is refused in one line", "[cpu]") {
    const std::string whole = right_png(9, 7, 3);
    REQUIRE(complaint(whole) == "");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const std::string text = complaint(whole.substr(0, length));
        INFO(length << " bytes: " << text);
        CHECK_THAT(text, EndsWith(length < 8 ? "is not a PNG file" : "is truncated"));
        CHECK(text.find('\n') == std::string::npos);
    }
}

TEST_CASE("a PNG with any byte changed is refused", "[cpu]") {
    const std::string whole = right_png(9, 7, 4);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ 0x40);
        INFO("byte " << i);
        CHECK(complaint(changed) != "");
    }
}

TEST_CASE("a file that is not a PNG is refused with its name", "[cpu]") {
    CHECK_THAT(complaint("P6 1 1 255 abc"), ContainsSubstring("is not a PNG file"));
    CHECK_THAT(complaint(""), ContainsSubstring("is not a PNG file"));
    const std::string whole = right_png(5, 7, 4), signature = whole.substr(0, 8), rest = whole.substr(8);
    CHECK_THAT(complaint(signature + png_chunk("CgBI", std::string("\x50\0\x20\6", 4)) + rest),
               ContainsSubstring("Apple's variant"));
    CHECK_THAT(complaint(signature + png_chunk("tEXt", "comment") + rest), EndsWith("no IHDR at its start"));
    CHECK_THROWS_MATCHES(gpulab::read_png("/nonexistent/x.png"), gpulab::UsageError,
                         MessageMatches(ContainsSubstring("cannot read /nonexistent/x.png: No such file")));
    CHECK_THROWS_AS(gpulab::read_png(fs::temp_directory_path().string()), gpulab::UsageError);
}

namespace {
/// A PNG of a header, these chunks and an end.
std::string png_with(unsigned width, unsigned height, char depth, char colour, const std::string& chunks) {
    return std::string("\x89PNG\r\n\x1a\n") +
           png_chunk("IHDR", png_number(width) + png_number(height) + depth + colour + std::string(3, '\0')) + chunks +
           png_chunk("IEND", "");
}

/// A PNG of a palette unless empty and one data chunk.
std::string png_of(unsigned width, unsigned height, char depth, char colour, const std::string& data,
                   const std::string& palette = "") {
    return png_with(width, height, depth, colour,
                    (palette.empty() ? "" : png_chunk("PLTE", palette)) +
                        (data.empty() ? "" : png_chunk("IDAT", data)));
}

/// The same with data for no pixel at all.
std::string header_only(unsigned width, unsigned height, char depth, char colour) {
    return png_of(width, height, depth, colour, compressed(""));
}
} // namespace

TEST_CASE("a PNG that announces a huge or an empty image is refused before anything is allocated", "[cpu]") {
    CHECK_THAT(complaint(header_only(2000000000, 2000000000, 8, 6)), ContainsSubstring("are too many"));
    CHECK_THAT(complaint(header_only(65536, 65536, 8, 0)), ContainsSubstring("are too many"));
    for (const auto& [width, height] : {std::pair{0u, 5u}, {5u, 0u}})
        CHECK_THAT(complaint(header_only(width, height, 8, 2)), ContainsSubstring("has no pixels"));
    for (const auto& [width, height] : {std::pair{5u, 5u}, {1u << 25, 1u}, {1u, 1u << 25}}) // too little data
        CHECK_THAT(complaint(header_only(width, height, 8, 0)), ContainsSubstring("is damaged"));
    CHECK_THAT(complaint(png_of(5, 5, 8, 2, "")), ContainsSubstring("is damaged")); // none at all
    CHECK_THAT(complaint(png_of(5, 5, 8, 2, "xyz")), ContainsSubstring("is damaged"));
    CHECK_THAT(complaint(header_only(5, 5, 9, 7)), ContainsSubstring("is damaged"));
}

TEST_CASE("16 bits are rounded to 8, palettes become colours, and transparency becomes alpha", "[cpu]") {
    using Pixels = std::vector<unsigned char>;
    const std::string two("\x0A\x14\x1E\x28\x32\x3C"), one_zero = row(std::string("\x01\x00", 2));
    const auto check = [](const std::string& bytes, int channels, const Pixels& pixels) {
        const ScratchFile file;
        file.write(bytes);
        const gpulab::Image image = gpulab::read_png(file.path());
        CHECK(image.channels == channels);
        CHECK(image.pixels == pixels);
    };
    check(png_of(4, 1, 16, 0, row(std::string("\x12\x00\xFF\xFF\x80\x80\x12\xC0", 8))), 1, {0x12, 255, 0x80, 0x13});
    check(png_of(2, 1, 8, 3, one_zero, two), 3, {40, 50, 60, 10, 20, 30});
    check(png_of(2, 1, 1, 3, row("\x40"), two), 3, {10, 20, 30, 40, 50, 60}); // one bit each
    check(png_with(2, 1, 8, 3, png_chunk("PLTE", two) + png_chunk("tRNS", "\x07") + png_chunk("IDAT", one_zero)), 4,
          {40, 50, 60, 255, 10, 20, 30, 7}); // the second colour is opaque
    check(png_with(2, 1, 8, 0, png_chunk("tRNS", std::string("\0\1", 2)) + png_chunk("IDAT", one_zero)), 2,
          {1, 0, 0, 255});
}

TEST_CASE("a palette that is missing, empty or too long is refused", "[cpu]") {
    const std::string two("\x0A\x14\x1E\x28\x32\x3C");
    // Newer versions of libpng say so themselves ("palette index exceeding"), older ones leave it to read_png().
    CHECK_THAT(complaint(png_of(2, 1, 8, 3, row("\x01\x02"), two)),
               ContainsSubstring("is damaged") &&
                   (ContainsSubstring("colour 2 of a palette of 2") || ContainsSubstring("palette index exceeding")));
    CHECK_THAT(complaint(png_of(2, 1, 8, 3, row("\x01\x01"))), ContainsSubstring("is damaged")); // no palette
    CHECK_THAT(complaint(png_of(2, 1, 1, 3, row("\x40"), two + "abc")), ContainsSubstring("is damaged: PLTE"));
    CHECK_THAT(complaint(png_of(2, 1, 8, 3, row("\x01\x01"), two + "a")), ContainsSubstring("is damaged"));
}

TEST_CASE("chunks that are twice there, too long, apart, empty or in the wrong place are refused", "[cpu]") {
    const std::string colours = png_chunk("PLTE", "\x0A\x14\x1E\x28\x32\x3C"), clear = png_chunk("tRNS", "\x01\x02"),
                      whole = row(std::string("\x01\x00", 2)), data = png_chunk("IDAT", whole),
                      half = png_chunk("IDAT", whole.substr(0, 6)), rest = png_chunk("IDAT", whole.substr(6)),
                      none = png_chunk("IDAT", ""), text = png_chunk("tEXt", std::string("a\0b", 3));
    // All these are right.
    for (const std::string& chunks : {colours + clear + data, colours + half + rest, colours + half + none + rest,
                                      text + colours + text + data + text}) {
        INFO(chunks);
        CHECK(complaint(png_with(2, 1, 8, 3, chunks)) == "");
    }
    for (const auto& [what, chunks] : {std::pair{"two PLTE", colours + colours + data},
                                       {"PLTE behind the data", data + colours},
                                       {"an empty PLTE", png_chunk("PLTE", "") + data},
                                       {"two tRNS", colours + clear + clear + data},
                                       {"a tRNS of three for two colours", colours + png_chunk("tRNS", "abc") + data},
                                       {"an empty tRNS", colours + png_chunk("tRNS", "") + data},
                                       {"tRNS before PLTE", clear + colours + data},
                                       {"IDAT apart", colours + half + text + rest},
                                       {"an empty IDAT alone", colours + none},
                                       {"no IDAT", colours},
                                       {"a chunk that must be understood", colours + png_chunk("ABCD", "") + data},
                                       {"two headers", colours + png_chunk("IHDR", std::string(13, '\1')) + data}}) {
        const std::string printed = complaint(png_with(2, 1, 8, 3, chunks));
        INFO(what << ": " << printed);
        CHECK_THAT(printed, ContainsSubstring("is damaged: "));
        CHECK(printed.find('\n') == std::string::npos);
    }
    // A grey image has one transparent value of two bytes.
    CHECK(complaint(png_with(2, 1, 8, 0, png_chunk("tRNS", std::string("\0\1", 2)) + data)) == "");
    CHECK_THAT(complaint(png_with(2, 1, 8, 0, png_chunk("tRNS", "\1") + data)), ContainsSubstring("is damaged"));
    CHECK_THAT(complaint(png_with(2, 1, 8, 0, colours + data)), ContainsSubstring("is damaged")); // grey has no palette
}

TEST_CASE("a wrong Adler-32, an impossible depth, surplus data and bytes after the end are refused", "[cpu]") {
    const std::string data = row("\x05\x06");
    REQUIRE(complaint(png_of(2, 1, 8, 0, data)) == "");
    std::string wrong = data;
    wrong.back() = static_cast<char>(wrong.back() ^ 1);
    CHECK_THAT(complaint(png_of(2, 1, 8, 0, wrong)), ContainsSubstring("is damaged"));
    for (const auto& [depth, colour] : {std::pair<char, char>{4, 2}, {16, 3}, {1, 4}, {2, 6}, {3, 0}, {8, 1}, {8, 5}})
        CHECK_THAT(complaint(png_of(2, 1, depth, colour, data, colour == 3 ? "abc" : "")),
                   ContainsSubstring("is damaged"));
    CHECK_THAT(complaint(png_of(2, 1, 8, 0, data + "x")), ContainsSubstring("is damaged"));
    CHECK_THAT(complaint(png_of(1, 1, 8, 0, data)), ContainsSubstring("is damaged"));
    CHECK(complaint(png_of(2, 1, 8, 0, data) + "what other programs add").empty());
    const std::string whole = png_of(2, 1, 8, 0, data), before_end = whole.substr(0, whole.size() - 12);
    CHECK_THAT(complaint(before_end + png_chunk("tRNS", std::string("\0\1", 2)) + whole.substr(whole.size() - 12)),
               ContainsSubstring("tRNS after IDAT"));
}

TEST_CASE("a PNG whose data expands far beyond its pixels is refused, not expanded", "[cpu]") {
    const auto zeros = [](std::size_t count) { return compressed(std::string(count, '\0')); };
    CHECK(complaint(png_of(258, 1, 8, 0, zeros(259))) == ""); // a filter byte and 258 pixels
    CHECK_THAT(complaint(png_of(257, 2, 8, 0, zeros(259))), ContainsSubstring("is damaged"));
    for (const std::size_t count : {std::size_t{500} << 10, std::size_t{300} << 20}) {
        const std::string data = zeros(count);
        for (const auto& [width, colour] : {std::pair<unsigned, char>{1, 6}, {64, 2}}) {
            const std::string text = complaint(png_of(width, width, 8, colour, data));
            CHECK_THAT(text, ContainsSubstring("is damaged"));
            CHECK(text.find('\n') == std::string::npos);
        }
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they reserve terabytes
TEST_CASE("an image that main memory is too small for is not called damaged", "[cpu]") {
    constexpr unsigned width = 258 * 32, height = width + 1;
    const ScratchFile file;
    file.write(png_of(width, height, 8, 0, compressed(std::string(height * (1 + std::size_t{width}), '\0'))));
    REQUIRE(gpulab::read_png(file.path()).pixels == std::vector<unsigned char>(std::size_t{width} * height));
    int refused = 0;
    for (rlim_t more = 0; more <= 160; more += 4) { // MiB, besides what the process has; the image takes 65
        const pid_t child = ::fork();
        if (child == 0) {
            std::size_t pages = 0;
            std::ifstream("/proc/self/statm") >> pages;
            const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (more << 20);
            const rlimit most{bytes, bytes};
            if (::setrlimit(RLIMIT_AS, &most) != 0) ::_exit(3);
            try {
                ::_exit(gpulab::read_png(file.path()).pixels.size() == std::size_t{width} * height ? 0 : 4);
            } catch (const gpulab::UsageError& e) {
                ::_exit(std::string(e.what()) == "cannot read " + file.path() + ": there is not enough main memory"
                            ? 1
                            : 2);
            } catch (...) {
                ::_exit(5);
            }
        }
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        INFO(more << " MiB");
        REQUIRE(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) < 2);
        refused += WEXITSTATUS(status) == 1;
    }
    CHECK(refused > 10);
    CHECK(refused < 41); // with the most memory it is read
}
#endif

TEST_CASE("an image without pixels, beyond the limit or of another size than its pixels is not written, and the old "
          "file stays",
          "[cpu]") {
    const ScratchFolder folder;
    const std::string path = folder.path("a.png");
    std::ofstream(path) << "old";
    {
        gpulab::OutputFile out(path);
        CHECK_THROWS_AS(gpulab::write_png(out, gpulab::Image{0, 5, 3, {}}), gpulab::UsageError);
    }
    {
        gpulab::OutputFile out(path);
        CHECK_THROWS_AS(gpulab::write_png(out, gpulab::Image{1 << 20, 1 << 20, 4, {}}), gpulab::UsageError);
    }
    for (const std::size_t pixels : {std::size_t{44}, std::size_t{46}, std::size_t{0}}) { // 5 x 3 x 3 are 45
        gpulab::OutputFile out(path);
        CHECK_THROWS_AS(gpulab::write_png(out, gpulab::Image{5, 3, 3, std::vector<unsigned char>(pixels)}),
                        gpulab::Error);
    }
    CHECK(bytes_of(path) == "old");
    CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator{}) == 1); // no temporary file
}

TEST_CASE("numbers are read as they are in a grey or an indexed PNG, and no other is taken for one", "[cpu]") {
    const ScratchFile file;
    using Numbers = std::vector<unsigned char>;
    const auto numbers_in = [&](const std::string& bytes) {
        file.write(bytes);
        const gpulab::Image image = gpulab::read_png_numbers(file.path(), "things");
        CHECK(image.channels == 1);
        return image.pixels;
    };
    const std::string two("\x0A\x14\x1E\x28\x32\x3C"), four = two + two;
    CHECK(numbers_in(png_of(3, 1, 8, 0, row(std::string("\x00\x02\xFF", 3)))) == Numbers{0, 2, 255});
    CHECK(numbers_in(png_of(2, 1, 8, 3, row(std::string("\x01\x00", 2)), two)) == Numbers{1, 0});
    CHECK(numbers_in(png_of(4, 1, 2, 3, row("\x1B"), four)) == Numbers{0, 1, 2, 3});
    CHECK(numbers_in(png_of(8, 1, 1, 0, row("\x41"))) == Numbers{0, 1, 0, 0, 0, 0, 0, 1});
    CHECK(numbers_in(png_of(4, 1, 2, 0, row("\x1B"))) == Numbers{0, 1, 2, 3});
    CHECK(numbers_in(png_of(2, 1, 4, 0, row("\x3A"))) == Numbers{3, 10});
    // Transparency is no number.
    const std::string pixels = png_chunk("IDAT", row(std::string("\x01\x00", 2)));
    CHECK(numbers_in(png_with(2, 1, 8, 3, png_chunk("PLTE", two) + png_chunk("tRNS", "\x07") + pixels)) ==
          Numbers{1, 0});
    CHECK(numbers_in(png_with(2, 1, 8, 0, png_chunk("tRNS", std::string("\0\x01", 2)) + pixels)) == Numbers{1, 0});

    const auto refusal = [&](const std::string& bytes) {
        file.write(bytes);
        return message_of([&] { (void)gpulab::read_png_numbers(file.path(), "things"); });
    };
    const std::string printed =
        file.path() + ": an 8-bit grey or an indexed PNG is needed, whose values are numbers of things";
    for (const int channels : {2, 3, 4}) CHECK(refusal(right_png(3, 2, channels)) == printed);
    CHECK(refusal(png_of(1, 1, 16, 0, row(std::string("\x00\x01", 2)))) == printed);
    CHECK_THAT(refusal(png_of(2, 1, 8, 3, row("\x01\x02"), two)), ContainsSubstring("is damaged"));
    CHECK_THAT(refusal("P5 1 1 255 a"), ContainsSubstring("is not a PNG file"));
}
