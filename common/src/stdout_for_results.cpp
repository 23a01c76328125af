#include "stdout_for_results.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

#include "gpulab/error.hpp"

#if defined(_WIN32)
#include <io.h>
#define close _close
#define dup _dup
#define dup2 _dup2
#define fileno _fileno
#define write_bytes(descriptor, data, size) _write(descriptor, data, static_cast<unsigned>(size))
#else
#include <sys/stat.h>
#include <unistd.h>
#define write_bytes(descriptor, data, size) ::write(descriptor, data, size)
#endif

namespace gpulab {

namespace {
StdoutForResults* living = nullptr;
} // namespace

StdoutForResults* StdoutForResults::current() { return living; }

bool names_stdout(const std::string& path) {
    if (path == "-") return true;
    if (path == "/dev/null") return false; // who sends both there wants neither
#if defined(_WIN32)
    return false;
#else
    struct stat file {
    }, out{};
    return stat(path.c_str(), &file) == 0 && fstat(fileno(stdout), &out) == 0 && file.st_dev == out.st_dev &&
           file.st_ino == out.st_ino;
#endif
}

StdoutForResults::StdoutForResults() {
    std::fflush(stdout);
    real_ = dup(fileno(stdout));
    if (real_ < 0 || dup2(fileno(stderr), fileno(stdout)) < 0)
        throw Error(fmt::format("cannot keep stdout for the results: {}", std::strerror(errno)));
    living = this;
}

StdoutForResults::~StdoutForResults() {
    living = nullptr;
    std::fflush(stdout);
    dup2(real_, fileno(stdout));
    close(real_);
}

void StdoutForResults::write(std::string_view content) {
    while (!content.empty()) {
        const auto written = write_bytes(real_, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) throw Error(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
        content.remove_prefix(static_cast<std::size_t>(written));
    }
}

} // namespace gpulab
