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
#include "gpulab/file.hpp"

#if !defined(_WIN32)
#include <chrono>
#include <fcntl.h>
#include <future>
#include <thread>
#include <unistd.h>
#endif

namespace gpulab {

namespace fs = std::filesystem;

UsageError cannot_read(const std::string& path, const std::string& why) {
    return UsageError(fmt::format("cannot read {}: {}", path, why));
}

namespace {

#if !defined(_WIN32)
/// Opens a named pipe, which waits until a program writes to it, but not for ever.
/// @return -1 with errno when it cannot be opened
int open_pipe(const std::string& path) {
    struct Opened {
        int file = -1, reason = 0;
    };
    const auto opened = std::make_shared<std::promise<Opened>>();
    std::future<Opened> result = opened->get_future();
    std::thread([opened, path] {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        opened->set_value({file, errno});
    }).detach();
    if (result.wait_for(patience_for_pipes) != std::future_status::ready)
        throw cannot_read(path, "no program writes to this pipe");
    const Opened o = result.get();
    errno = o.reason;
    return o.file;
}
#endif

} // namespace

/// An open file, decompressed as it is read. (zlib's own reader takes what follows the compressed data for nothing.)
struct InputFile::Stream {
    explicit Stream(std::FILE* f) : file(f) {}
    ~Stream() {
        if (packed) inflateEnd(&inflater);
        std::fclose(file);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    std::FILE* file;
    bool looked = false, packed = false;
    bool between = true; // two compressed files, of which several may follow each other
    z_stream inflater{};
    std::vector<unsigned char> stored = std::vector<unsigned char>(1 << 17); // bytes of the file ...
    std::size_t at = 0, end = 0;                                             // ... of which these are to be read

    /// Adds bytes of the file to `stored`. @return false at its end
    bool fill(const std::string& path) {
        if (at == end) at = end = 0;
        errno = 0;
        const std::size_t got = std::fread(stored.data() + end, 1, stored.size() - end, file);
        if (std::ferror(file)) throw cannot_read(path, std::strerror(errno));
        end += got;
        return got > 0;
    }

    /// Gives at most `wish` bytes of the text, at least one except at its end. @return how many
    std::size_t read(char* to, std::size_t wish, const std::string& path) {
        if (!std::exchange(looked, true)) {
            while (end < 2 && fill(path)) {
            }
            packed = end >= 2 && stored[0] == 0x1F && stored[1] == 0x8B;
            if (packed && inflateInit2(&inflater, 15 + 16) != Z_OK) throw std::bad_alloc(); // 16: the format of gzip
        }
        return packed ? inflated(to, wish, path) : copied(to, wish, path);
    }

    std::size_t copied(char* to, std::size_t wish, const std::string& path) {
        if (at == end && !fill(path)) return 0;
        const std::size_t count = std::min(wish, end - at);
        std::memcpy(to, stored.data() + at, count);
        at += count;
        return count;
    }

    std::size_t inflated(char* to, std::size_t wish, const std::string& path) {
        inflater.next_out = reinterpret_cast<Bytef*>(to);
        inflater.avail_out = static_cast<uInt>(wish);
        while (inflater.avail_out == wish) {
            if (at == end && !fill(path)) {
                if (between) return 0;
                throw cannot_read(path, "its gzip data is truncated");
            }
            if (std::exchange(between, false)) inflateReset(&inflater);
            inflater.next_in = stored.data() + at;
            inflater.avail_in = static_cast<uInt>(end - at);
            const int code = inflate(&inflater, Z_NO_FLUSH);
            at = end - inflater.avail_in;
            between = code == Z_STREAM_END;
            if (code == Z_MEM_ERROR) throw std::bad_alloc();
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) // the last: it wants more input
                throw cannot_read(path, fmt::format("its gzip data is damaged: {}",
                                                    inflater.msg ? inflater.msg : "it needs a dictionary"));
        }
        return wish - inflater.avail_out;
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
    errno = 0;
#if !defined(_WIN32)
    // O_NONBLOCK: /proc/kmsg is a regular file whose reader waits for the next message. Files on disks ignore it.
    const int descriptor = pipe_ ? open_pipe(path_) : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) throw cannot_read(path_, std::strerror(errno));
    std::FILE* const file = ::fdopen(descriptor, "rb");
    if (!file) ::close(descriptor);
#else
    std::FILE* const file = std::fopen(path_.c_str(), "rb");
#endif
    if (!file) throw cannot_read(path_, errno ? std::strerror(errno) : "not enough main memory");
    stream_ = std::make_unique<Stream>(file);
}

bool InputFile::read(std::string& text, std::size_t most) {
    const auto memory = host_memory_bytes();
    while (text.size() < most) {
        const std::size_t had = text.size(), chunk = std::min(most - had, std::max<std::size_t>(had, 1 << 16));
        const std::size_t wish = std::min<std::size_t>(chunk, 1 << 30);
        if (memory > 0 && had > memory / 2 && !has_length()) // parsing takes as much again
            throw cannot_read(path_, "its text takes more than half of main memory");
        text.resize(had + wish);
        const std::size_t got = stream_->read(text.data() + had, wish, path_);
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
