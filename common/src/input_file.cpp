#include "gpulab/input_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <utility>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"

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
    if (result.wait_for(std::chrono::seconds(5)) != std::future_status::ready)
        throw cannot_read(path, "no program writes to this pipe");
    const Opened o = result.get();
    errno = o.reason;
    return o.file;
}
#endif

} // namespace

void InputFile::Close::operator()(gzFile_s* file) const { gzclose(file); }

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
    file_.reset(gzdopen(descriptor, "rb"));
    if (!file_) ::close(descriptor);
#else
    file_.reset(gzopen(path_.c_str(), "rb"));
#endif
    if (!file_) throw cannot_read(path_, errno ? std::strerror(errno) : "not enough main memory");
    gzbuffer(file_.get(), 1 << 17);
}

bool InputFile::read(std::string& text, std::size_t most) {
    const auto memory = host_memory_bytes();
    while (text.size() < most) {
        const std::size_t had = text.size(), chunk = std::min(most - had, std::max<std::size_t>(had, 1 << 16));
        const auto wish = static_cast<unsigned>(std::min<std::size_t>(chunk, 1 << 30));
        if (memory > 0 && had > memory / 2 && !has_length()) // parsing takes as much again
            throw cannot_read(path_, "its text takes more than half of main memory");
        text.resize(had + wish);
        errno = 0;
        const int got = gzread(file_.get(), text.data() + had, wish);
        const int reason = errno;
        text.resize(had + static_cast<std::size_t>(std::max(got, 0)));
        int code = Z_OK;
        const char* const what = gzerror(file_.get(), &code);
        if (code == Z_ERRNO) throw cannot_read(path_, std::strerror(reason));
        if (code == Z_BUF_ERROR) throw cannot_read(path_, "its gzip data is truncated");
        if (code == Z_MEM_ERROR) throw std::bad_alloc();
        if (got < 0 || code != Z_OK) throw cannot_read(path_, fmt::format("its gzip data is damaged: {}", what));
        if (got == 0) return false;
    }
    return true;
}

bool InputFile::has_length() { return !pipe_ && gzdirect(file_.get()); }

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
