// Files that are written: whole or not at all, under their own name, and with one clear line where that fails.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "backends.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input_file.hpp"
#include "gpulab_testing/capture.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"

#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;
using gpulab::OutputFile;
using gpulab::testing::bytes_of;
using gpulab::testing::in_child;

namespace {

struct Folder : gpulab::testing::ScratchFolder {
    auto files() const { return std::distance(fs::directory_iterator(path()), fs::directory_iterator{}); }
};

/// What the constructor says against a path, without the path.
std::string refusal(const std::string& path) {
    const std::string text = gpulab::testing::message_of([&] { const OutputFile file(path); });
    const std::string begin = "cannot write " + path + ": ";
    return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

} // namespace

TEST_CASE("a file appears whole, under its own name only, and when it is committed") {
    const Folder folder;
    const std::string path = folder.path("a");
    std::ofstream(path) << "old";
    std::ifstream reader(path);
    {
        OutputFile file(path);
        file.prepare("first");
        file.prepare("second, and longer"); // takes the place of the first
        CHECK(bytes_of(path) == "old");
        CHECK(folder.files() == 1); // nothing is left behind by a program that is stopped while it computes
        file.commit();
        CHECK(bytes_of(path) == "second, and longer");
        std::ofstream(path) << "of others";
        file.commit(); // nothing is left to do
        file.prepare("third");
        OutputFile moved(std::move(file));
        file = {};
        moved = OutputFile(folder.path("b"));
        CHECK(moved.path() == folder.path("b"));
        moved.write("");
    } // the third was never committed
    CHECK(bytes_of(path) == "of others");
    CHECK(std::string{std::istreambuf_iterator<char>(reader), {}} == "old"); // who holds it open keeps the old content
    CHECK(bytes_of(folder.path("b")).empty());
    CHECK(folder.files() == 2);
    CHECK_FALSE(OutputFile());
}

TEST_CASE("a file in parts appears when the last one is there, compressed where its name says so, each time the same") {
    const Folder folder;
    for (const std::string name : {"a.txt", "a.txt.gz"}) {
        OutputFile file(folder.path(name));
        for (const char* const part : {"one ", "two ", "three"}) file.append(part);
        CHECK_FALSE(fs::exists(folder.path(name)));
        file.commit();
        CHECK(gpulab::content_of(folder.path(name), 100) == "one two three");
        const std::string bytes = bytes_of(folder.path(name));
        CHECK((name == "a.txt" ? bytes == "one two three" : bytes.starts_with("\x1f\x8b")));
        OutputFile(folder.path(name)).write("one two three");
        CHECK(bytes_of(folder.path(name)) == bytes);
    }
}

TEST_CASE("a place that cannot be written is refused at once, with its name and the reason") {
    const Folder folder;
    CHECK(refusal(folder.path("missing/a.json")) == "No such file or directory");
    CHECK(refusal(folder.path()) == "it is a directory");
    CHECK(refusal(folder.path(std::string(256, 'a'))) == "File name too long");
    fs::create_symlink("circle", folder.path("circle"));
    CHECK(refusal(folder.path("circle")) == "Too many levels of symbolic links");
    fs::create_symlink(".", folder.path("to_folder"));
    CHECK(refusal(folder.path("to_folder")) == "it is a directory");
    CHECK(folder.files() == 2);
    OutputFile(folder.path(std::string(255, 'a'))).write("x"); // as long as the system allows
    CHECK(folder.files() == 3);
}

TEST_CASE("a link stays a link, and what it leads to is written, also when that is not there yet") {
    const Folder folder;
    fs::create_directory(folder.path("inner"));
    fs::create_symlink("new", folder.path("link"));
    fs::create_symlink("../link", folder.path("inner/link"));
    for (const char* const content : {"x", "y"}) {
        OutputFile(folder.path("inner/link")).write(content);
        CHECK(fs::is_symlink(folder.path("link")));
        CHECK(fs::is_symlink(folder.path("inner/link")));
        CHECK_FALSE(fs::is_symlink(folder.path("new")));
        CHECK(bytes_of(folder.path("new")) == content);
    }
}

TEST_CASE("two names of one file are seen as one, through links and before there is a file") {
    const Folder folder;
    fs::create_directory(folder.path("inner"));
    fs::create_symlink("new", folder.path("link"));
    fs::create_symlink("inner", folder.path("folder"));
    fs::create_symlink("circle", folder.path("circle"));
    const auto same = [&](const char* a, const char* b) { return gpulab::same_file(folder.path(a), folder.path(b)); };
    for (const bool exists : {false, true}) {
        if (exists) std::ofstream(folder.path("new")) << "x";
        CHECK(same("new", "new"));
        CHECK(same("new", "inner/../new"));
        CHECK(same("link", "new"));
        CHECK(same("inner/a", "folder/a"));
        CHECK_FALSE(same("new", "inner/new"));
        CHECK_FALSE(same("new", "other"));
        CHECK_FALSE(same("new", "circle"));
    }
    fs::create_hard_link(folder.path("new"), folder.path("hard"));
    CHECK(same("new", "hard"));
}

TEST_CASE("a file that cannot take its name in the end is an error, and leaves nothing behind") {
    const Folder folder;
    OutputFile file(folder.path("a"));
    fs::create_directory(folder.path("a")); // meanwhile
    CHECK_THROWS_MATCHES(file.write("x"), gpulab::Error,
                         Catch::Matchers::Message("cannot write " + folder.path("a") + ": Is a directory"));
    CHECK(folder.files() == 1);
}

namespace {

unsigned mode_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777u;
}

bool limit_files_to(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_DFL); // as a program finds it
    const rlimit most{bytes, bytes};
    return ::setrlimit(RLIMIT_FSIZE, &most) == 0;
}

} // namespace

TEST_CASE("a new file has the permissions that the umask leaves, a replaced one its own, and its owner and group") {
    const Folder folder;
    const mode_t before = ::umask(027);
    OutputFile(folder.path("new")).write("x");
    ::umask(before);
    CHECK(mode_of(folder.path("new")) == 0640);
    const std::string path = folder.path("old");
    std::ofstream(path) << "old";
    for (const mode_t mode : {0600u, 0644u, 0666u, 0755u}) {
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        OutputFile(path).write("new");
        CHECK(mode_of(path) == mode);
        CHECK(bytes_of(path) == "new");
    }
    if (::geteuid() != 0) return; // only the superuser can give files away
    REQUIRE(::chown(path.c_str(), 12345, 23456) == 0);
    OutputFile(path).write("newer");
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_uid == 12345 && status.st_gid == 23456));
}

TEST_CASE("a file or a folder that may not be written is refused, and the file stays") {
    const Folder folder;
    const std::string path = folder.path("a");
    std::ofstream(path) << "precious";
    for (const auto& [of_file, of_folder] : {std::pair<mode_t, mode_t>{0444, 0777}, {0666, 0555}}) {
        REQUIRE(::chmod(path.c_str(), of_file) == 0);
        REQUIRE(::chmod(folder.path().c_str(), of_folder) == 0);
        CHECK(in_child([&] { return refusal(path) == "Permission denied" ? 0 : 1; }, true) == 0);
        CHECK(bytes_of(path) == "precious");
        CHECK(folder.files() == 1);
    }
    REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
}

TEST_CASE("a file beyond the limit of file sizes is an error, not a signal, and leaves the old one and no other") {
    const Folder folder;
    for (const std::string name : {"a", "a.gz"}) {
        const std::string path = folder.path(name);
        std::ofstream(path) << "old";
        std::string text; // that cannot be compressed to nothing
        for (unsigned x = 1; text.size() < 100'000; x = x * 1664525 + 1013904223) text += std::to_string(x);
        CHECK(in_child([&] {
                  if (!limit_files_to(1000)) return 3;
                  OutputFile file(path);
                  try {
                      file.write(text);
                  } catch (const gpulab::Error& e) {
                      return e.what() == "cannot write " + path + ": File too large" ? 0 : 2;
                  }
                  return 1;
              }) == 0);
        CHECK(bytes_of(path) == "old");
    }
    CHECK(folder.files() == 2);
}

TEST_CASE("a folder that takes no file, or none of that size, is known with the reason, and nothing is left in it") {
    const Folder folder;
    CHECK(gpulab::why_not_writable(folder.path("new/inner"), 1 << 20).empty());
    CHECK(fs::is_empty(folder.path("new/inner")));
    std::ofstream(folder.path("file")) << "x";
    CHECK(gpulab::why_not_writable(folder.path("file"), 1) == "Not a directory");
    CHECK(gpulab::why_not_writable(folder.path("file/inner"), 1) == "Not a directory");
    CHECK(in_child([&] {
              if (!limit_files_to(100'000)) return 3;
              if (gpulab::why_not_writable(folder.path(), 1 << 20) != "File too large") return 1;
              return gpulab::why_not_writable(folder.path(), 50'000).empty() ? 0 : 2;
          }) == 0);
    CHECK(folder.files() == 2);
}

TEST_CASE("a pipe is written to, however much goes through it, and stays a pipe") {
    const Folder folder;
    const std::string path = folder.path("pipe"), text(1'000'000, 'x'); // more than a pipe holds
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    std::string got;
    std::thread reader([&] { got = bytes_of(path); });
    OutputFile file;
    file = OutputFile(path); // as the report does
    CHECK_FALSE(file.repeatable());
    file.write(text);
    reader.join();
    CHECK((got == text)); // in brackets: else a failure prints it all
    CHECK(fs::is_fifo(path));
    CHECK(folder.files() == 1);
}

TEST_CASE("what goes to the file that stdout or stderr goes to follows what was printed there") {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
        for (const bool by_name : {false, true}) {
            const Folder folder;
            const std::string path = folder.path("out.txt");
            const int code = in_child([&] {
                const int out = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
                if (out < 0 || ::dup2(out, stream) < 0) return 3;
                std::FILE* const file = stream == STDOUT_FILENO ? stdout : stderr;
                std::fputs("table\n", file);
                OutputFile json(by_name ? path : stream == STDOUT_FILENO ? "/dev/stdout" : "/dev/stderr");
                std::fputs("row\n", file);
                json.write("json\n");
                std::fputs("end\n", file);
                return 0;
            });
            CHECK(code == 0);
            CHECK(bytes_of(path) == "table\nrow\njson\nend\n");
            CHECK(folder.files() == 1);
        }
}

TEST_CASE("an output that stdout or a device cannot take is an error") {
    if (!fs::exists("/dev/full")) SKIP("there is no /dev/full");
    const auto flush_to = [](const char* path) {
        return in_child([path] {
            if (!std::freopen(path, "w", stdout)) return 3;
            std::fputs("lost", stdout);
            try {
                gpulab::flush_stdout();
            } catch (const gpulab::Error& e) {
                return std::string(e.what()) == "cannot write to stdout: No space left on device" ? 1 : 2;
            }
            return 0;
        });
    };
    CHECK(flush_to("/dev/full") == 1);
    const gpulab::testing::ScratchFile file;
    CHECK(in_child([&] { // the reason is that of the first write that failed, though later ones succeed
              rlimit limit{10, RLIM_INFINITY};
              if (!std::freopen(file.path().c_str(), "w", stdout) || setrlimit(RLIMIT_FSIZE, &limit) != 0) return 3;
              gpulab::detail::ignore_file_size_signal();
              std::fputs("eleven bytes", stdout);
              gpulab::detail::flush_so_far();
              limit.rlim_cur = RLIM_INFINITY;
              setrlimit(RLIMIT_FSIZE, &limit);
              try {
                  gpulab::flush_stdout();
              } catch (const gpulab::Error& e) {
                  return std::string(e.what()) == "cannot write to stdout: File too large" ? 1 : 2;
              }
              return 0;
          }) == 1);
    CHECK(flush_to("/dev/null") == 0);
    CHECK_THROWS_MATCHES(OutputFile("/dev/full").write("x"), gpulab::Error,
                         Catch::Matchers::Message("cannot write /dev/full: No space left on device"));
    CHECK_NOTHROW(OutputFile("/dev/null").write("x"));
}
