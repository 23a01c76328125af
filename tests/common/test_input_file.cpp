// Files that are read: whole, compressed, through pipes, and those that cannot be.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input_file.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"

using gpulab::testing::bytes_of;
using gpulab::testing::ScratchFile;

namespace {

/// What content_of() says about a file, without the file's name.
std::string complaint(const std::string& path, std::size_t most = 1 << 20) {
    const std::string text = gpulab::testing::message_of([&] { (void)gpulab::content_of(path, most); });
    const std::string begin = "cannot read " + path + ": ";
    return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

/// Text that no pattern repeats for long, so that its compressed form is long as well.
std::string long_text(std::size_t bytes) {
    std::string text;
    for (unsigned x = 1; text.size() < bytes; x = x * 1664525 + 1013904223) text += std::to_string(x) + '\n';
    text.resize(bytes);
    return text;
}

/// The bytes of the compressed file that holds this text.
std::string gzip(const std::string& text) {
    const gpulab::testing::ScratchFolder folder;
    gpulab::OutputFile(folder.path("a.gz")).write(text);
    return bytes_of(folder.path("a.gz"));
}

} // namespace

TEST_CASE("the content of a file is read, compressed or not, whatever its length") {
    const ScratchFile file;
    for (const std::size_t bytes : {0, 1, 2, 1000, 65535, 65536, 65537, 131072, 3'000'001}) {
        INFO(bytes << " bytes");
        const std::string text = long_text(bytes);
        file.write(text);
        const std::string content = gpulab::content_of(file.path(), bytes);
        CHECK(content == text);
        CHECK(content.capacity() <= std::max<std::size_t>(bytes, 16)); // its memory need not grow while it is read
        file.write(gzip(text));
        CHECK(gpulab::content_of(file.path(), std::max<std::size_t>(bytes, 100)) == text);
    }
}

TEST_CASE("two compressed files one after the other are read as one, and zeros behind them are none of it, as with "
          "gunzip") {
    const ScratchFile file;
    for (const std::size_t zeros : {1, 511, 300'000}) {
        file.write(gzip("one, ") + gzip("two") + std::string(zeros, '\0'));
        CHECK(gpulab::content_of(file.path(), 1 << 20) == "one, two");
    }
    file.write(gzip("one, ") + gzip("two"));
    CHECK(gpulab::content_of(file.path(), 100) == "one, two");
}

TEST_CASE("something else behind compressed data is refused") {
    const ScratchFile file;
    const std::string packed = gzip("one");
    for (const std::string& rest :
         {std::string("x"), std::string("garbage"), std::string("\0x", 2), std::string(200'000, 'x')}) {
        file.write(packed + rest);
        CHECK(complaint(file.path()).starts_with("its gzip data is "));
    }
    file.write("plain, " + packed); // which is no gzip at all
    CHECK(gpulab::content_of(file.path(), 100) == "plain, " + packed);
}

TEST_CASE("a file with more bytes than are wanted is refused, also one that is small only while it is compressed") {
    const ScratchFile file;
    file.write(std::string(2 << 20, 'x'));
    CHECK(complaint(file.path()) == "it is larger than 1 MiB");
    CHECK(complaint(file.path(), 2 << 20) == "");
    file.write(gzip(std::string((1 << 20) + 1, 'x')));
    REQUIRE(std::filesystem::file_size(file.path()) < 10'000);
    CHECK(complaint(file.path()) == "it is larger than 1 MiB");
    CHECK(complaint(file.path(), (1 << 20) + 1) == "");
    std::filesystem::resize_file(file.path(), std::uintmax_t{1} << 40); // a terabyte that takes no room
    CHECK(complaint(file.path()) == "it is larger than 1 MiB");
}

TEST_CASE("compressed data that is cut off anywhere or changed is refused") {
    const ScratchFile file;
    const std::string packed = gzip(long_text(300));
    for (std::size_t length = 2; length < packed.size(); ++length) { // one byte is not known to be compressed
        file.write(packed.substr(0, length));
        INFO(length << " bytes");
        CHECK(complaint(file.path()) == "its gzip data is truncated");
    }
    for (std::size_t i = 10; i < packed.size(); ++i) { // behind the header, whose bytes are not all checked
        if (i == packed.size() - 9) continue; // the last byte of the data, which may end with bits that mean nothing
        std::string changed = packed;
        changed[i] = static_cast<char>(changed[i] ^ 0x10);
        file.write(changed);
        INFO("byte " << i);
        CHECK(complaint(file.path()).starts_with("its gzip data is "));
    }
}

TEST_CASE("what is no readable file is refused with its name and the reason") {
    const ScratchFile missing;
    CHECK(complaint(missing.path()) == "No such file or directory");
    CHECK(complaint("") == "No such file or directory");
    CHECK(complaint("/") == "it is a directory");
    CHECK(complaint("/dev/zero") == "it is neither a regular file nor a pipe");
    CHECK(complaint(std::string(5000, 'x')) == "File name too long");
    std::filesystem::create_symlink(missing.path(), missing.path());
    CHECK(complaint(missing.path()) == "Too many levels of symbolic links");
    if (::geteuid() == 0) return; // the superuser may read every file
    const ScratchFile closed;
    closed.write("x");
    REQUIRE(::chmod(closed.path().c_str(), 0) == 0);
    CHECK(complaint(closed.path()) == "Permission denied");
}

TEST_CASE("a file in a format that nothing here reads is refused with the name of the format, compressed or not") {
    const ScratchFile file;
    for (const auto& [content, says] :
         {std::pair<std::string, std::string>{"\x28\xB5\x2F\xFD\x04", "it is compressed with zstd"},
          {"\xFD\x37zXZ", "it is compressed with xz"},
          {"BZh9", "it is compressed with bzip2"},
          {"PK\x03\x04", "it is a zip archive"},
          {std::string(257, 'a') + "ustar", "it is a tar archive"},
          {"\xFF\xFE%", "it is text in UTF-16"},
          {"\xFE\xFF", "it is text in UTF-16"},
          {"\x93NUMPY", "it is an array of NumPy"}})
        for (const std::string& stored : {content, gzip(content)}) {
            file.write(stored);
            CHECK(complaint(file.path()).starts_with(says));
        }
}

TEST_CASE("a pipe is read to its end, compressed or not") {
    const ScratchFile pipe;
    REQUIRE(::mkfifo(pipe.path().c_str(), 0600) == 0);
    const std::string text = long_text(500'000);
    for (const std::string& sent : {text, gzip(text)}) {
        std::thread writer([&] { std::ofstream(pipe.path()) << sent; });
        CHECK(gpulab::content_of(pipe.path(), 1 << 20) == text);
        writer.join();
    }
}
