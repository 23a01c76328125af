// Reads Matrix Market files: regular files and pipes, compressed with gzip or not. Their text: matrix_market.cpp.
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/matrix_market.hpp"

#if !defined(_WIN32)
#include <chrono>
#include <fcntl.h>
#include <future>
#include <thread>
#endif

namespace gpulab {

namespace {

namespace fs = std::filesystem;

UsageError cannot_read(const std::string& path, const std::string& why) {
    return UsageError(fmt::format("cannot read {}: {}", path, why));
}

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

/// A file that is read from its beginning; what is compressed with gzip is decompressed. Regular files and pipes only:
/// a device may never end.
class Source {
public:
    explicit Source(const std::string& path) : path_(path) {
        std::error_code failed;
        const fs::file_status status = fs::status(path, failed);
        if (fs::is_directory(status)) throw cannot_read(path, "it is a directory");
        pipe_ = fs::is_fifo(status);
        if (fs::exists(status) && !fs::is_regular_file(status) && !pipe_)
            throw cannot_read(path, "it is neither a regular file nor a pipe");
        if (!pipe_) bytes_ = fs::file_size(path, failed);
        errno = 0;
#if !defined(_WIN32)
        const int descriptor = pipe_ ? open_pipe(path) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (descriptor < 0) throw cannot_read(path, std::strerror(errno));
        file_.reset(gzdopen(descriptor, "rb"));
#else
        file_.reset(gzopen(path.c_str(), "rb"));
#endif
        if (!file_) throw cannot_read(path, errno ? std::strerror(errno) : "not enough main memory");
        gzbuffer(file_.get(), 1 << 17);
    }

    /// Reads on until the text has this many bytes, or to the end. @return false at the end
    bool read(std::string& text, std::size_t most) {
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

    /// Whether the length of the text is that of the file. After a read().
    bool has_length() { return !pipe_ && gzdirect(file_.get()); }
    std::uintmax_t bytes() const { return bytes_; } ///< of a regular file

private:
    std::string path_;
    bool pipe_ = false;
    std::uintmax_t bytes_ = 0;
    std::unique_ptr<gzFile_s, int (*)(gzFile)> file_{nullptr, gzclose};
};

constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

std::string read_all(Source& source, const std::string& path, std::string text) {
    if (source.has_length()) {
        if (const auto memory = host_memory_bytes(); memory > 0 && source.bytes() > memory)
            throw cannot_read(path, fmt::format("its {} bytes do not fit main memory", source.bytes()));
        text.reserve(source.bytes() + (1 << 16));
    }
    source.read(text, all);
    return text;
}

/// A text that matrix_market_size() had to read to its end.
struct Kept {
    std::string path, text;
    bool there = false;
} kept;

} // namespace

MatrixSize matrix_market_size(const std::string& path) try {
    kept = {};
    Source source(path);
    std::string text;
    for (std::size_t bytes = 1 << 16; source.read(text, bytes) && !holds_header(text);) bytes *= 2;
    MatrixSize size = announced_size(text);
    auto bytes = static_cast<double>(source.bytes());
    if (!source.has_length()) {
        kept = {path, read_all(source, path, std::move(text)), true};
        size = announced_size(kept.text);
        bytes = static_cast<double>(kept.text.size());
    }
    size.nonzeros = std::min(size.nonzeros, bytes); // an entry takes 2 bytes or more, mirrored 4
    return size;
} catch (const std::bad_alloc&) {
    throw cannot_read(path, "there is not enough main memory");
}

template <class T> Csr<T> read_matrix_market(const std::string& path) try {
    Coo<T> coo;
    {
        std::string text;
        if (kept.there && kept.path == path) {
            text = std::move(kept.text);
        } else {
            Source source(path);
            source.read(text, 1 << 16);
            text = read_all(source, path, std::move(text));
        }
        kept = {};
        coo = parse_matrix_market<T>(text, path);
    }
    // Few entries may announce very many rows, and CSR stores an offset for each.
    const double bytes = 16.0 * static_cast<double>(coo.rows) + (sizeof(T) + 4.0) * static_cast<double>(coo.nonzeros());
    const auto memory = static_cast<double>(host_memory_bytes());
    if (memory > 0 && bytes > memory)
        throw UsageError(
            fmt::format("{}: {} rows and {} entries do not fit main memory", path, coo.rows, coo.nonzeros()));
    try {
        return to_csr(coo);
    } catch (const Error& e) {
        throw Error(fmt::format("{}: {}", path, e.what()));
    }
} catch (const std::bad_alloc&) {
    throw cannot_read(path, "there is not enough main memory");
}

template <class T> void write_matrix_market(const std::string& path, const Csr<T>& matrix) {
    OutputFile file(path);
    file.write(to_matrix_market(matrix));
}

template Csr<float> read_matrix_market(const std::string&);
template Csr<double> read_matrix_market(const std::string&);
template void write_matrix_market(const std::string&, const Csr<float>&);
template void write_matrix_market(const std::string&, const Csr<double>&);

} // namespace gpulab
