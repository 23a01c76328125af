#include "gpulab/file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <random>
#include <system_error>
#include <utility>

#include "gpulab/error.hpp"
#include "gzip.hpp"
#include "stdout_for_results.hpp"

#if !defined(_WIN32)
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#endif

namespace gpulab {

namespace fs = std::filesystem;

namespace {

#if !defined(_WIN32)
// The temporary files that exist now. A signal handler removes them, and it may neither allocate nor lock: so this is a
// table of fixed size.
struct TemporaryName {
    std::atomic<bool> taken{false};
    std::atomic<bool> valid{false}; // `name` is complete
    char name[4096];
};
TemporaryName temporary_names[16];

constexpr int watched_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ};
struct sigaction earlier_actions[std::size(watched_signals)]; // what happened at these signals before
std::atomic<bool> ending{false};

extern "C" void remove_temporary_files(int signal) {
    for (TemporaryName& temporary : temporary_names)
        if (temporary.valid) ::unlink(temporary.name);
    // Ends the program as it would have ended without this handler. An earlier handler may come back to this one, which
    // it found when it was installed itself: not twice.
    std::signal(signal, SIG_DFL);
    if (!ending.exchange(true))
        for (std::size_t i = 0; i < std::size(watched_signals); ++i)
            if (watched_signals[i] == signal) ::sigaction(signal, &earlier_actions[i], nullptr);
    std::raise(signal); // blocked until this handler returns
}

/// Lets the signals that end a program remove the temporary files first, and then do what they did before: PoCL's
/// compiler has handlers of its own, which end the program as well. A signal that is ignored (nohup) stays so. SIGXFSZ,
/// a file larger than `ulimit -f` allows, is ignored: the write then fails, and the program says so.
void watch_signals() {
    for (std::size_t i = 0; i < std::size(watched_signals); ++i) {
        const int signal = watched_signals[i];
        struct sigaction action {};
        if (::sigaction(signal, nullptr, &action) != 0) continue;
        const bool plain = !(action.sa_flags & SA_SIGINFO);
        if (plain && (action.sa_handler == SIG_IGN || action.sa_handler == remove_temporary_files)) continue;
        earlier_actions[i] = action;
        struct sigaction ours {};
        ours.sa_handler = signal == SIGXFSZ ? SIG_IGN : remove_temporary_files;
        ::sigaction(signal, &ours, nullptr);
    }
}
#else
void watch_signals() {}
#endif

/// Has a signal that ends the program remove this file.
void remove_on_signal([[maybe_unused]] const std::string& name) {
#if !defined(_WIN32)
    if (name.size() >= sizeof(TemporaryName::name)) return;
    for (TemporaryName& temporary : temporary_names) {
        if (temporary.taken.exchange(true)) continue;
        name.copy(temporary.name, name.size());
        temporary.name[name.size()] = '\0';
        temporary.valid = true;
        return;
    }
#endif
}

/// The file is gone, or has its final name.
void keep_on_signal([[maybe_unused]] const std::string& name) {
#if !defined(_WIN32)
    for (TemporaryName& temporary : temporary_names)
        if (temporary.valid && name == temporary.name) {
            temporary.valid = false;
            temporary.taken = false;
        }
#endif
}

void remove_temporary(const std::string& name) noexcept {
    std::error_code ignored;
    fs::remove(name, ignored);
    keep_on_signal(name);
}

/// A name for a temporary file in the folder of `path`. A file name may have 255 bytes, so a long one is cut (not
/// within a character of UTF-8).
std::string temporary_name(const fs::path& path, unsigned number) {
    std::string name = path.filename().string();
    std::size_t length = std::min<std::size_t>(name.size(), 100);
    while (length > 0 && length < name.size() && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80) --length;
    name.resize(length);
    return (path.parent_path() / fmt::format("{}.{:08x}.part", name, number)).string();
}

/// Opens a new file beside `path` that no other program has. @return the file and its name, or nullptr
std::FILE* open_temporary(const std::string& path, std::string& name) {
    std::random_device random;
    for (int attempt = 0; attempt < 10; ++attempt) {
        name = temporary_name(path, random());
        remove_on_signal(name);
        errno = 0;
        if (std::FILE* file = std::fopen(name.c_str(), "wbx")) return file; // x: fails if it exists
        const int reason = errno;
        keep_on_signal(name);
        errno = reason;
        if (reason != EEXIST) return nullptr;
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

/// Whether a file in this folder cannot be replaced although new files can be made there: in a folder like /tmp
/// (sticky), only the owner of a file, or of the folder, may rename onto it.
bool only_its_owner_replaces([[maybe_unused]] const std::string& path) {
#if !defined(_WIN32)
    struct stat file {
    }, folder{};
    const std::string parent = fs::path(path).parent_path().string();
    return ::stat(path.c_str(), &file) == 0 && ::stat(parent.empty() ? "." : parent.c_str(), &folder) == 0 &&
           (folder.st_mode & S_ISVTX) && ::geteuid() != 0 && ::geteuid() != file.st_uid && ::geteuid() != folder.st_uid;
#else
    return false;
#endif
}

/// Opens what is not a regular file. It waits for the program that reads a named pipe, but not for ever.
/// @return nullptr, with `why`, when it cannot be opened
std::FILE* open_special(const std::string& path, std::string& why) {
#if !defined(_WIN32)
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + patience_for_pipes;
    int file = -1;
    // Without O_NONBLOCK, open() returns only when there is a reader; with it, it fails with ENXIO while there is none.
    while ((file = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0 && errno == ENXIO &&
           fs::is_fifo(path) && Clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (file < 0) {
        why = errno == ENXIO ? "no program reads this pipe" : std::strerror(errno);
        return nullptr;
    }
    ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) & ~O_NONBLOCK);
    std::FILE* const stream = ::fdopen(file, "wb");
#else
    std::FILE* const stream = std::fopen(path.c_str(), "wb");
#endif
    if (!stream) why = std::strerror(errno);
    return stream;
}

/// Overwrites a file that exists. @return false, with errno set, when it cannot
bool overwrite(const std::string& path, const std::string& content) {
    std::FILE* const file = std::fopen(path.c_str(), "r+b");
    if (!file) return false;
    bool good = std::fwrite(content.data(), 1, content.size(), file) == content.size() && std::fflush(file) == 0;
#if !defined(_WIN32)
    good = good && ::ftruncate(fileno(file), static_cast<off_t>(content.size())) == 0;
#endif
    const int reason = errno;
    if (std::fclose(file) != 0) return false;
    errno = reason;
    return good;
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

OutputFile::OutputFile(std::string path) : path_(std::move(path)), packed_(is_gzip_name(path_)) {
    const auto cannot = [&](const std::string& why) {
        return UsageError(fmt::format("cannot write {}: {}", path_, why));
    };
    watch_signals();
    to_stdout_ = path_ == "-" && StdoutForResults::current();
    if (to_stdout_) return;
    std::error_code failed;
    const fs::file_status status = fs::status(path_, failed);
    if (status.type() == fs::file_type::none) throw cannot(failed.message()); // a circle of links, too long a name
    if (fs::is_directory(status)) throw cannot("it is a directory");
    bool exists = false;
    if (fs::exists(status)) {
        stream_ = stream_into(path_);
        special_ = stream_ || !fs::is_regular_file(status);
        if (special_) return; // opening a pipe would wait for its reader
        errno = 0;
        std::FILE* const existing = std::fopen(path_.c_str(), "r+b"); // changes nothing
        if (!existing) throw cannot(std::strerror(errno));
        std::fclose(existing);
        exists = true;
    }
    path_ = behind_links(path_);
    if (exists && only_its_owner_replaces(path_)) {
        in_place_ = true;
        return;
    }
    std::string trial;
    if (std::FILE* const file = open_temporary(path_, trial)) {
        std::fclose(file);
        remove_temporary(trial);
    } else if (exists) {
        in_place_ = true; // the file may be written, its folder may not
    } else {
        throw cannot(std::strerror(errno));
    }
}

OutputFile::~OutputFile() { discard(); }

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), temporary_(std::exchange(other.temporary_, {})),
      content_(std::exchange(other.content_, {})), prepared_(std::exchange(other.prepared_, false)),
      packed_(other.packed_), special_(other.special_), in_place_(other.in_place_), to_stdout_(other.to_stdout_),
      stream_(other.stream_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(temporary_, other.temporary_);
    std::swap(content_, other.content_);
    std::swap(prepared_, other.prepared_);
    std::swap(packed_, other.packed_);
    std::swap(special_, other.special_);
    std::swap(in_place_, other.in_place_);
    std::swap(to_stdout_, other.to_stdout_);
    std::swap(stream_, other.stream_);
    return *this;
}

void OutputFile::discard() noexcept {
    if (!temporary_.empty()) remove_temporary(temporary_);
    temporary_.clear();
    content_.clear();
    prepared_ = false;
}

void OutputFile::write(std::string_view content) {
    prepare(content);
    commit();
}

void OutputFile::prepare(std::string_view text) {
    discard();
    const std::string packed = packed_ ? gzip(text) : "";
    const std::string_view content = packed_ ? packed : text;
    if (in_place_ || to_stdout_) {
        content_ = content;
        prepared_ = true;
        return;
    }
    errno = 0;
    std::FILE* file = nullptr;
    bool good = true;
    std::string why;
    if (stream_) {
        file = stream_;
    } else if (special_) {
        file = open_special(path_, why);
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
        if (why.empty()) why = std::strerror(errno);
        discard();
        throw Error(fmt::format("cannot write {}: {}", path_, why));
    }
}

void OutputFile::append(std::string_view text) {
    if (special_ || stream_ || (temporary_.empty() && !prepared_)) return prepare(text);
    const std::string packed = packed_ ? gzip(text) : ""; // files of gzip may follow each other
    const std::string_view content = packed_ ? packed : text;
    if (prepared_) {
        content_ += content;
        return;
    }
    errno = 0;
    std::FILE* const file = std::fopen(temporary_.c_str(), "ab");
    bool good = file && std::fwrite(content.data(), 1, content.size(), file) == content.size();
    if (file) good = std::fclose(file) == 0 && good;
    if (good) return;
    const std::string why = std::strerror(errno);
    discard();
    throw Error(fmt::format("cannot write {}: {}", path_, why));
}

void OutputFile::commit() {
    if (to_stdout_ && prepared_) {
        std::fflush(stdout); // what was printed comes first, where stderr goes to the same place
        StdoutForResults::current()->write(content_);
        discard();
    }
    if (prepared_) {
        const bool good = overwrite(path_, content_);
        const std::string reason = std::strerror(errno);
        discard();
        if (!good) throw Error(fmt::format("cannot write {}: {}", path_, reason));
    }
    if (temporary_.empty()) return;
    std::error_code failed;
    fs::rename(temporary_, path_, failed);
    if (failed) {
        discard();
        throw Error(fmt::format("cannot write {}: {}", path_, failed.message()));
    }
    keep_on_signal(temporary_);
    temporary_.clear();
}

std::string why_not_writable(const std::string& folder, std::size_t bytes) {
    watch_signals(); // beyond the limit of file sizes a write is an error, not a signal
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (failed) return failed.message();
    std::string name;
    errno = 0;
    std::FILE* const file = open_temporary((fs::path(folder) / "trial").string(), name);
    if (!file) return std::strerror(errno);
    const std::string content(bytes, 'x');
    bool good = std::fwrite(content.data(), 1, bytes, file) == bytes && std::fflush(file) == 0;
    const std::string why = good ? "" : std::strerror(errno);
    good = std::fclose(file) == 0 && good;
    const std::string why_closing = good ? "" : std::strerror(errno); // a quota may show here only
    remove_temporary(name);
    return why.empty() ? why_closing : why;
}

void flush_stdout() {
    errno = 0;
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
        throw Error(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
}

OutputFile output_file(const std::string& path) { return path.empty() ? OutputFile() : OutputFile(path); }

} // namespace gpulab
