#include "gpulab/input_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <utility>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"

namespace gpulab {

namespace fs = std::filesystem;

UsageError cannot_read(const std::string& path, const std::string& why) {
    return UsageError(fmt::format("cannot read {}: {}", path, why));
}

/// An open file, decompressed as it is read. (zlib's own reader takes what follows the compressed data for nothing.)
struct InputFile::Stream {
    Stream(std::FILE* f, const std::string& name) : file(f, std::fclose), path(name) {
        packed = fill() && inflater.avail_in >= 2 && stored[0] == 0x1F && stored[1] == 0x8B;
        if (packed && inflateInit2(&inflater, 15 + 16) != Z_OK) throw std::bad_alloc(); // 16: the format of gzip
    }
    ~Stream() {
        if (packed) inflateEnd(&inflater);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file;
    std::string path;
    std::vector<unsigned char> stored = std::vector<unsigned char>(1 << 17); // bytes of the file
    z_stream inflater{};                                                     // its input: those not yet read
    bool packed = false;
    bool between = true; // two compressed files, of which several may follow each other

    /// Sees to it that there are bytes to read. @return false at the end of the file
    bool fill() {
        if (inflater.avail_in > 0) return true;
        errno = 0;
        inflater.next_in = stored.data();
        inflater.avail_in = static_cast<uInt>(std::fread(stored.data(), 1, stored.size(), file.get()));
        if (std::ferror(file.get())) throw cannot_read(path, std::strerror(errno));
        return inflater.avail_in > 0;
    }

    /// Gives at most `most` bytes of the text, at least one except at its end. @return how many
    std::size_t read(char* to, std::size_t most) {
        if (!packed) {
            const std::size_t count = fill() ? std::min<std::size_t>(most, inflater.avail_in) : 0;
            std::memcpy(to, inflater.next_in, count);
            inflater.next_in += count;
            inflater.avail_in -= static_cast<uInt>(count);
            return count;
        }
        inflater.next_out = reinterpret_cast<Bytef*>(to);
        inflater.avail_out = static_cast<uInt>(most);
        while (inflater.avail_out == most) {
            if (!fill()) {
                if (between) return 0;
                throw cannot_read(path, "its gzip data is truncated");
            }
            if (std::exchange(between, false)) inflateReset(&inflater);
            const int code = inflate(&inflater, Z_NO_FLUSH);
            between = code == Z_STREAM_END;
            if (code == Z_MEM_ERROR) throw std::bad_alloc();
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) // the last: it wants more input
                throw cannot_read(path, fmt::format("its gzip data is damaged: {}",
                                                    inflater.msg ? inflater.msg : "it needs a dictionary"));
        }
        return most - inflater.avail_out;
    }
};

InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;

InputFile::InputFile(std::string path) : path_(std::move(path)) {
    std::error_code failed;
    const fs::file_status status = fs::status(path_, failed);
    if (fs::is_directory(status)) throw cannot_read(path_, "it is a directory");
    pipe_ = fs::is_fifo(status);
    if (fs::exists(status) && !fs::is_regular_file(status) && !pipe_)
        throw cannot_read(path_, "it is neither a regular file nor a pipe");
    if (!pipe_) bytes_ = fs::file_size(path_, failed);
    std::FILE* const file = std::fopen(path_.c_str(), "rb");
    if (!file) throw cannot_read(path_, std::strerror(errno));
    stream_ = std::make_unique<Stream>(file, path_);
}

bool InputFile::read(std::string& text, std::size_t most) {
    const auto memory = host_memory_bytes();
    while (text.size() < most) {
        const std::size_t had = text.size(), chunk = std::min(most - had, std::max<std::size_t>(had, 1 << 16));
        const std::size_t requested = std::min<std::size_t>(chunk, 1 << 30);
        if (memory > 0 && had > memory / 2 && !has_length()) // parsing takes as much again
            throw cannot_read(path_, "its text takes more than half of main memory");
        text.resize(had + requested);
        const std::size_t got = stream_->read(text.data() + had, requested);
        text.resize(had + got);
        if (got == 0) return false;
    }
    return true;
}

bool InputFile::has_length() const { return !pipe_ && !stream_->packed; }

std::string content_of(const std::string& path, std::size_t most) try {
    InputFile file(path);
    std::string text;
    if (file.bytes() > most || (file.read(text, most) && file.read(text, most + 1)))
        throw cannot_read(path, fmt::format("it is larger than {} MiB", most >> 20));
    return text;
} catch (const std::bad_alloc&) {
    throw cannot_read(path, "there is not enough main memory");
}

} // namespace gpulab
