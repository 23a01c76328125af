#include "gpulab/file.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <system_error>
#include <utility>

#include "backends.hpp"
#include "gpulab/error.hpp"

#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

namespace gpulab {

namespace fs = std::filesystem;

namespace {

std::FILE* kept_stdout = nullptr; // by keep_stdout_for_results()

int stdout_fault = 0; // errno of the first write that failed

/// Opens a new file that no other program has, in the folder of `path`.
/// @return the file and its name, or nullptr with errno
std::FILE* open_beside(const fs::path& path, std::string& name) {
    std::random_device random;
    std::FILE* file = nullptr;
    do {
        name = (path.parent_path() / fmt::format(".gpulab-{:08x}.part", random())).string();
        file = std::fopen(name.c_str(), "wbx"); // x: fails if it exists
    } while (!file && errno == EEXIST);
    return file;
}

/// The path that symbolic links lead to in the end; nothing need be there. An endless circle of links comes back as one
/// of them.
std::string behind_links(fs::path path) {
    std::error_code failed;
    for (int step = 0; step < 40 && fs::is_symlink(path, failed); ++step)
        path = path.parent_path() / fs::read_symlink(path, failed); // an absolute target replaces the parent
    return path.string();
}

/// stdout or stderr, when it goes to the file of this name; else nullptr.
std::FILE* stream_into([[maybe_unused]] const std::string& path) {
    struct stat file {
    }, open_file{};
    if (::stat(path.c_str(), &file) == 0)
        for (std::FILE* const stream : {stdout, stderr})
            if (::fstat(fileno(stream), &open_file) == 0 && file.st_dev == open_file.st_dev &&
                file.st_ino == open_file.st_ino)
                return stream;
    return nullptr;
}

/// Gives a new file the permissions of an old one, and its owner and group where the system lets us.
/// @return false, with errno, when it cannot have the permissions
bool take_over_permissions([[maybe_unused]] const std::string& old_file, [[maybe_unused]] const std::string& new_file) {
    struct stat old {};
    if (::stat(old_file.c_str(), &old) != 0) return true; // there is none: those that the umask leaves
    if (::chown(new_file.c_str(), old.st_uid, old.st_gid) != 0 &&
        ::chown(new_file.c_str(), static_cast<uid_t>(-1), old.st_gid) != 0)
        errno = 0; // only the superuser can give files away
    return ::chmod(new_file.c_str(), old.st_mode & 0777) == 0;
}

/// Writes the content, compressed or not. @return false, with errno, when the file does not take all of it
bool put(std::FILE* file, std::string_view content, bool packed) {
    if (!packed) return std::fwrite(content.data(), 1, content.size(), file) == content.size() && !std::fflush(file);
    if (std::fflush(file) != 0) return false;
    const int descriptor = dup(fileno(file)); // gzclose() closes it
    const gzFile stream = descriptor < 0 ? nullptr : gzdopen(descriptor, "wb");
    if (!stream) return false;
    const bool good = gzfwrite(content.data(), 1, content.size(), stream) == content.size();
    const int reason = errno;
    if (gzclose(stream) == Z_OK && good) return true;
    if (!good) errno = reason;
    return false;
}

} // namespace

bool same_file(const std::string& a, const std::string& b) {
    std::error_code failed;
    if (fs::equivalent(a, b, failed)) return true; // both exist
    const auto place = [&](const std::string& path) {
        return fs::weakly_canonical(behind_links(fs::absolute(path, failed)), failed);
    };
    const fs::path first = place(a), second = place(b);
    return !first.empty() && first == second;
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    const auto cannot = [&](const std::string& why) {
        return UsageError(fmt::format("cannot write {}: {}", path_, why));
    };
    detail::ignore_file_size_signal();
    if (path_ == "-") stream_ = kept_stdout;
    std::error_code failed;
    const fs::file_status status = fs::status(path_, failed);
    if (status.type() == fs::file_type::none) throw cannot(failed.message()); // a circle of links, too long a name
    if (fs::is_directory(status)) throw cannot("it is a directory");
    if (!stream_) stream_ = stream_into(path_);
    special_ = stream_ || (fs::exists(status) && !fs::is_regular_file(status));
    if (special_) return; // opening a pipe would wait for its reader
    if (fs::exists(status)) {
        std::FILE* const existing = std::fopen(path_.c_str(), "r+b"); // changes nothing
        if (!existing) throw cannot(std::strerror(errno));
        std::fclose(existing);
    }
    path_ = behind_links(path_);
    std::string trial;
    std::FILE* const file = open_beside(path_, trial);
    if (!file) throw cannot(std::strerror(errno));
    std::fclose(file);
    fs::remove(trial, failed);
}

void OutputFile::write(std::string_view content) {
    prepare(content);
    commit();
}

void OutputFile::commit() {
    if (!content_) return;
    const std::string content = *std::exchange(content_, {});
    std::string temporary;
    int reason = 0; // the errno of what failed first
    const auto check = [&](bool good) {
        if (!good && reason == 0) reason = errno != 0 ? errno : EIO;
        return good;
    };
    detail::flush_so_far(); // what was printed comes first, where it goes to the same place
    errno = 0;
    std::FILE* const file = stream_    ? stream_
                            : special_ ? std::fopen(path_.c_str(), "wb")
                                       : open_beside(path_, temporary);
    if (check(file != nullptr)) {
        // The permissions come before there is anything in it to read.
        if (special_ || check(take_over_permissions(path_, temporary)))
            check(put(file, content, path_.size() > 3 && path_.ends_with(".gz")));
        if (!stream_) check(std::fclose(file) == 0);
    }
    if (reason == 0 && !special_) check(std::rename(temporary.c_str(), path_.c_str()) == 0);
    if (reason == 0) return;
    std::error_code ignored;
    if (!special_) fs::remove(temporary, ignored);
    throw Error(fmt::format("cannot write {}: {}", path_ == "-" ? "to stdout" : path_, std::strerror(reason)));
}

OutputFile output_file(const std::string& path) { return path.empty() ? OutputFile() : OutputFile(path); }

std::string why_not_writable(const std::string& folder, std::size_t bytes) {
    detail::ignore_file_size_signal();
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) return failed.message();
    std::string name;
    std::FILE* const file = open_beside(fs::path(folder) / "trial", name);
    if (!file) return std::strerror(errno);
    std::string why = put(file, std::string(bytes, 'x'), false) ? "" : std::strerror(errno);
    if (std::fclose(file) != 0 && why.empty()) why = std::strerror(errno); // a quota may show here only
    fs::remove(name, failed);
    return why;
}

void detail::ignore_file_size_signal() { std::signal(SIGXFSZ, SIG_IGN); }

void detail::flush_so_far() {
    if (std::fflush(stdout) != 0 && stdout_fault == 0) stdout_fault = errno;
}

void flush_stdout() {
    detail::flush_so_far();
    if (stdout_fault == 0 && std::ferror(stdout)) stdout_fault = EIO;
    if (stdout_fault != 0) throw Error(fmt::format("cannot write to stdout: {}", std::strerror(stdout_fault)));
}

bool names_stdout(const std::string& path) {
    return path == "-" || (path != "/dev/null" && stream_into(path) == stdout); // who sends both there wants neither
}

void keep_stdout_for_results() {
    detail::flush_so_far();
    const int real = dup(fileno(stdout));
    if (real < 0 || dup2(fileno(stderr), fileno(stdout)) < 0 || !(kept_stdout = fdopen(real, "wb")))
        throw Error(fmt::format("cannot keep stdout for the results: {}", std::strerror(errno)));
}

} // namespace gpulab
