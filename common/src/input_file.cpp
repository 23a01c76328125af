#include "gpulab/input_file.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "gpulab/device.hpp"

namespace gpulab {

namespace fs = std::filesystem;

UsageError cannot_read(const std::string& path, const std::string& why) {
    return UsageError(fmt::format("cannot read {}: {}", path, why));
}

namespace {

/// What no reader here takes, by the bytes at a place of its text.
struct Format {
    std::size_t at;
    std::string_view bytes;
    const char* what;
};
constexpr Format others[] = {{0, "\x28\xB5\x2F\xFD", "compressed with zstd; unzstd decompresses it"},
                             {0, "\xFD\x37zXZ", "compressed with xz; unxz decompresses it"},
                             {0, "BZh", "compressed with bzip2; bunzip2 decompresses it"},
                             {0, "PK\x03\x04", "a zip archive; unzip unpacks it"},
                             {257, "ustar", "a tar archive; tar -xf unpacks it"},
                             {0, "\xFF\xFE", "text in UTF-16; iconv -f UTF-16 -t UTF-8 converts it"},
                             {0, "\xFE\xFF", "text in UTF-16; iconv -f UTF-16 -t UTF-8 converts it"},
                             {0, "\x93NUMPY", "an array of NumPy; text is needed, as numpy.savetxt() writes it"}};

/// Reads an open file, and decompresses it. (zlib's own reader takes what follows the compressed data for nothing.)
/// @param expected bytes of the file; 0: not known
/// @throws UsageError when the text gets longer than `most` bytes; `too_long` says why that is too much
std::string text_of(std::FILE* file, const std::string& path, std::size_t expected, std::size_t most,
                    const std::string& too_long) {
    std::vector<unsigned char> stored(1 << 17), part(1 << 17);
    z_stream inflater{}; // its input: bytes of the file that are not used yet
    const auto fill = [&] {
        if (inflater.avail_in > 0) return true;
        errno = 0;
        inflater.next_in = stored.data();
        inflater.avail_in = static_cast<uInt>(std::fread(stored.data(), 1, stored.size(), file));
        if (std::ferror(file)) throw cannot_read(path, std::strerror(errno));
        return inflater.avail_in > 0;
    };
    std::string text;
    const auto append = [&](const unsigned char* bytes, std::size_t count) {
        text.append(reinterpret_cast<const char*>(bytes), count);
        if (text.size() > most) throw cannot_read(path, too_long);
    };
    if (!(fill() && inflater.avail_in >= 2 && stored[0] == 0x1F && stored[1] == 0x8B)) { // not compressed
        text.reserve(expected);
        for (; fill(); inflater.avail_in = 0) append(inflater.next_in, inflater.avail_in);
        return text;
    }
    if (inflateInit2(&inflater, 15 + 16) != Z_OK) throw std::bad_alloc(); // 16: the format of gzip
    const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&inflater, inflateEnd);
    bool between = true; // two compressed files, of which several may follow each other
    while (fill()) {
        if (between && *inflater.next_in == 0) { // zeros fill the last block of a tape, or of a disk
            ++inflater.next_in;
            --inflater.avail_in;
            continue;
        }
        if (std::exchange(between, false)) inflateReset(&inflater);
        do {
            inflater.next_out = part.data();
            inflater.avail_out = static_cast<uInt>(part.size());
            const int code = inflate(&inflater, Z_NO_FLUSH);
            between = code == Z_STREAM_END;
            if (code == Z_MEM_ERROR) throw std::bad_alloc();
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) // the last: it wants more input
                throw cannot_read(path, fmt::format("its gzip data is damaged: {}",
                                                    inflater.msg ? inflater.msg : "it needs a dictionary"));
            append(part.data(), part.size() - inflater.avail_out);
        } while (inflater.avail_out == 0 && !between);
    }
    if (!between) throw cannot_read(path, "its gzip data is truncated");
    return text;
}

} // namespace

std::string content_of(const std::string& path, std::size_t most) try {
    const std::string too_long =
        most > 0 ? fmt::format("it is larger than {} MiB", most >> 20) : "its text takes more than half of main memory";
    const auto memory = static_cast<std::size_t>(host_memory_bytes()); // 0: unknown
    if (most == 0) most = memory > 0 ? memory / 2 : std::numeric_limits<std::size_t>::max();
    std::error_code failed;
    const fs::file_status status = fs::status(path, failed);
    if (fs::is_directory(status)) throw cannot_read(path, "it is a directory");
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_fifo(status))
        throw cannot_read(path, "it is neither a regular file nor a pipe");
    const std::uintmax_t bytes = fs::is_regular_file(status) ? fs::file_size(path, failed) : 0;
    if (bytes > most) throw cannot_read(path, too_long);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) throw cannot_read(path, std::strerror(errno));
    std::string text = text_of(file.get(), path, bytes, most, too_long);
    for (const Format& other : others)
        if (text.size() > other.at && std::string_view(text).substr(other.at).starts_with(other.bytes))
            throw cannot_read(path, fmt::format("it is {}", other.what));
    return text;
} catch (const std::bad_alloc&) {
    throw cannot_read(path, "there is not enough main memory");
}

} // namespace gpulab
