#include "gpulab/file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <utility>

#include "gpulab/error.hpp"

namespace gpulab {

namespace fs = std::filesystem;

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    std::error_code ignored;
    if (fs::is_directory(path_, ignored)) throw UsageError(fmt::format("cannot write {}: it is a directory", path_));
    const bool special = fs::exists(path_, ignored) && !fs::is_regular_file(path_, ignored);
    if (!special) temporary_ = path_ + ".part";
    errno = 0;
    std::FILE* file = std::fopen(special ? path_.c_str() : temporary_.c_str(), special ? "ab" : "wb");
    if (!file) {
        const std::string reason = std::strerror(errno);
        temporary_.clear();
        throw UsageError(fmt::format("cannot write {}: {}", path_, reason));
    }
    std::fclose(file);
}

OutputFile::~OutputFile() { discard(); }

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), temporary_(std::exchange(other.temporary_, {})) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(temporary_, other.temporary_);
    return *this;
}

void OutputFile::discard() noexcept {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove(temporary_, ignored);
    temporary_.clear();
}

void OutputFile::write(std::string_view content) {
    const std::string target = temporary_.empty() ? path_ : temporary_;
    errno = 0;
    std::FILE* file = std::fopen(target.c_str(), "wb");
    bool good = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (file) good = std::fclose(file) == 0 && good;
    if (!good) {
        const std::string reason = std::strerror(errno);
        discard();
        throw Error(fmt::format("cannot write {}: {}", path_, reason));
    }
    if (temporary_.empty()) return;
    std::error_code failed;
    fs::rename(temporary_, path_, failed);
    if (failed) {
        discard();
        throw Error(fmt::format("cannot write {}: {}", path_, failed.message()));
    }
    temporary_.clear();
}

} // namespace gpulab
