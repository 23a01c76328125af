#include "gpulab/file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <system_error>
#include <utility>

#include "gpulab/error.hpp"

namespace gpulab {

namespace fs = std::filesystem;

namespace {

/// Opens a new file beside `path` that no other program has. @return the file and its name, or nullptr
std::FILE* open_temporary(const std::string& path, std::string& name) {
    std::random_device random;
    for (int attempt = 0; attempt < 10; ++attempt) {
        name = fmt::format("{}.{:08x}.part", path, random());
        errno = 0;
        if (std::FILE* file = std::fopen(name.c_str(), "wbx")) return file; // x: fails if it exists
        if (errno != EEXIST) return nullptr;
    }
    return nullptr;
}

} // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    std::error_code ignored;
    if (fs::is_directory(path_, ignored)) throw UsageError(fmt::format("cannot write {}: it is a directory", path_));
    special_ = fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored);
    if (special_) return; // opening a pipe would wait for its reader
    if (fs::is_symlink(path_, ignored))
        path_ = fs::weakly_canonical(path_, ignored).string(); // write what it points to
    std::string trial;
    std::FILE* const file = open_temporary(path_, trial);
    if (!file) throw UsageError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
    std::fclose(file);
    fs::remove(trial, ignored);
}

OutputFile::~OutputFile() { discard(); }

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), temporary_(std::exchange(other.temporary_, {})), special_(other.special_) {
}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(temporary_, other.temporary_);
    std::swap(special_, other.special_);
    return *this;
}

void OutputFile::discard() noexcept {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove(temporary_, ignored);
    temporary_.clear();
}

void OutputFile::write(std::string_view content) {
    prepare(content);
    commit();
}

void OutputFile::prepare(std::string_view content) {
    discard();
    errno = 0;
    std::FILE* file = nullptr;
    if (special_) {
        file = std::fopen(path_.c_str(), "wb");
    } else {
        std::string name;
        file = open_temporary(path_, name);
        if (file) temporary_ = name;
    }
    bool good = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (file) good = std::fclose(file) == 0 && good;
    if (!good) {
        const std::string reason = std::strerror(errno);
        discard();
        throw Error(fmt::format("cannot write {}: {}", path_, reason));
    }
}

void OutputFile::commit() {
    if (special_ || temporary_.empty()) return;
    std::error_code failed;
    fs::rename(temporary_, path_, failed);
    if (failed) {
        discard();
        throw Error(fmt::format("cannot write {}: {}", path_, failed.message()));
    }
    temporary_.clear();
}

void flush_stdout() {
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw Error(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
}

} // namespace gpulab
