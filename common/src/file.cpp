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

#if !defined(_WIN32)
#include <sys/stat.h>
#include <unistd.h>
#endif

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

/// The path that symbolic links lead to in the end; nothing need be there. An endless circle of links comes back as one
/// of them.
std::string behind_links(fs::path path) {
    std::error_code failed;
    for (int step = 0; step < 40 && fs::is_symlink(path, failed); ++step)
        path = path.parent_path() / fs::read_symlink(path, failed); // an absolute target replaces the parent
    return path.string();
}

/// stdout or stderr, when it goes to the regular file of this name; else nullptr.
std::FILE* stream_into([[maybe_unused]] const std::string& path) {
#if !defined(_WIN32)
    struct stat file {
    }, open_file{};
    if (::stat(path.c_str(), &file) == 0)
        for (std::FILE* const stream : {stdout, stderr})
            if (::fstat(fileno(stream), &open_file) == 0 && file.st_dev == open_file.st_dev &&
                file.st_ino == open_file.st_ino)
                return stream;
#endif
    return nullptr;
}

/// Gives a new file the permissions of an old one, and its owner and group where the system lets us.
/// @return false, with errno set, when it cannot have the permissions
bool take_over_permissions([[maybe_unused]] const std::string& old_file, [[maybe_unused]] const std::string& new_file) {
#if !defined(_WIN32)
    struct stat old {};
    if (::stat(old_file.c_str(), &old) != 0) return true; // there is none: those that the umask leaves
    if (::chown(new_file.c_str(), old.st_uid, old.st_gid) != 0 &&
        ::chown(new_file.c_str(), static_cast<uid_t>(-1), old.st_gid) != 0)
        errno = 0; // only the superuser can give files away
    return ::chmod(new_file.c_str(), old.st_mode & 0777) == 0;
#else
    return true;
#endif
}

} // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    const auto cannot = [&](const char* why) { return UsageError(fmt::format("cannot write {}: {}", path_, why)); };
    std::error_code ignored;
    if (fs::is_directory(path_, ignored)) throw cannot("it is a directory");
    if (fs::exists(path_, ignored)) {
        stream_ = stream_into(path_);
        special_ = stream_ || !fs::is_regular_file(path_, ignored);
        if (special_) return; // opening a pipe would wait for its reader
        errno = 0;
        std::FILE* const existing = std::fopen(path_.c_str(), "r+b"); // changes nothing
        if (!existing) throw cannot(std::strerror(errno));
        std::fclose(existing);
    }
    const std::string target = behind_links(path_);
    std::string trial;
    std::FILE* const file = fs::is_symlink(target, ignored) ? (errno = ELOOP, nullptr) : open_temporary(target, trial);
    if (!file) throw cannot(std::strerror(errno));
    std::fclose(file);
    fs::remove(trial, ignored);
    path_ = target;
}

OutputFile::~OutputFile() { discard(); }

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), temporary_(std::exchange(other.temporary_, {})), special_(other.special_),
      stream_(other.stream_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(temporary_, other.temporary_);
    std::swap(special_, other.special_);
    std::swap(stream_, other.stream_);
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
    bool good = true;
    if (stream_) {
        file = stream_;
    } else if (special_) {
        file = std::fopen(path_.c_str(), "wb");
    } else {
        std::string name;
        file = open_temporary(path_, name);
        if (file) temporary_ = name;
        good = file && take_over_permissions(path_, name); // before there is anything in it to read
    }
    good = good && file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (stream_) good = std::fflush(file) == 0 && good;
    else if (file) good = std::fclose(file) == 0 && good;
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
