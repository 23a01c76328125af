#include "gpulab_testing/capture.hpp"

#include <cstdio>
#include <stdexcept>

#include "gpulab_testing/program.hpp"

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace gpulab::testing {

namespace {

#if defined(_WIN32)
int open_new(const char* path) { return _open(path, _O_CREAT | _O_WRONLY | _O_BINARY, _S_IREAD | _S_IWRITE); }
#define GPULAB_POSIX(name) _##name
#else
int open_new(const char* path) { return open(path, O_CREAT | O_WRONLY, 0600); }
#define GPULAB_POSIX(name) name
#endif

/// Lets a descriptor lead to a file while it lives.
class Diverted {
public:
    Diverted(std::FILE* stream, const std::string& path) : stream_(stream), kept_(GPULAB_POSIX(dup)(number())) {
        std::fflush(stream_);
        const int to = open_new(path.c_str());
        if (kept_ < 0 || to < 0 || GPULAB_POSIX(dup2)(to, number()) < 0)
            throw std::runtime_error("the stream cannot be diverted to " + path);
        GPULAB_POSIX(close)(to);
    }
    ~Diverted() {
        std::fflush(stream_);
        GPULAB_POSIX(dup2)(kept_, number());
        GPULAB_POSIX(close)(kept_);
    }
    Diverted(const Diverted&) = delete;
    Diverted& operator=(const Diverted&) = delete;

private:
    int number() const { return GPULAB_POSIX(fileno)(stream_); }
    std::FILE* stream_;
    int kept_;
};

#undef GPULAB_POSIX

} // namespace

std::string captured(Stream stream, const std::function<void()>& body) {
    const ScratchFile file;
    {
        const Diverted diverted(stream == Stream::out ? stdout : stderr, file.path());
        body();
    }
    return file.text();
}

} // namespace gpulab::testing
