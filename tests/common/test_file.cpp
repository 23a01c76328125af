#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input_file.hpp"
#include "gpulab_testing/program.hpp"

#if !defined(_WIN32)
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace fs = std::filesystem;
using gpulab::testing::bytes_of;

namespace {

struct Folder : gpulab::testing::ScratchFolder {
    auto files() const { return std::distance(fs::directory_iterator(path()), fs::directory_iterator{}); }
};

} // namespace

TEST_CASE("a file appears whole and under its own name only") {
    const Folder folder;
    gpulab::OutputFile file(folder.path("a.json"));
    CHECK(folder.files() == 0); // nothing is left behind by a program that is stopped while it computes
    file.write("complete\n");
    CHECK(bytes_of(folder.path("a.json")) == "complete\n");
    CHECK(folder.files() == 1);
}

TEST_CASE("a file in parts appears when the last one is there, compressed where its name says so") {
    const Folder folder;
    for (const std::string name : {"a.txt", "a.txt.gz"}) {
        gpulab::OutputFile file(folder.path(name));
        for (const char* const part : {"one ", "two ", "three"}) file.append(part);
        CHECK(!fs::exists(folder.path(name)));
        file.commit();
        CHECK(gpulab::content_of(folder.path(name), 100) == "one two three");
        CHECK((bytes_of(folder.path(name)) == "one two three") == (name == "a.txt"));
    }
    gpulab::OutputFile given_up(folder.path("b"));
    given_up.append("one");
    given_up = {};
    CHECK(folder.files() == 2);
}

TEST_CASE("a file that is never written leaves nothing behind and an old one untouched") {
    const Folder folder;
    std::ofstream(folder.path("old.json")) << "old";
    {
        const gpulab::OutputFile replaced(folder.path("old.json"));
        const gpulab::OutputFile fresh(folder.path("new.json"));
    }
    CHECK(bytes_of(folder.path("old.json")) == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a place that cannot be written is refused at once, with its name") {
    const Folder folder;
    CHECK_THROWS_AS(gpulab::OutputFile(folder.path("missing/a.json")), gpulab::UsageError);
    CHECK_THROWS_AS(gpulab::OutputFile(folder.path()), gpulab::UsageError);
    CHECK(folder.files() == 0);
}

TEST_CASE("a file of the user's that has the name of a temporary one is left alone") {
    const Folder folder;
    std::ofstream(folder.path("a.part")) << "precious";
    gpulab::OutputFile(folder.path("a")).write("x");
    CHECK(bytes_of(folder.path("a.part")) == "precious");
    CHECK(bytes_of(folder.path("a")) == "x");
}

TEST_CASE("a link stays a link, and what it points to is written") {
    const Folder folder;
    std::ofstream(folder.path("target")) << "old";
    fs::create_symlink(folder.path("target"), folder.path("link"));
    gpulab::OutputFile(folder.path("link")).write("new");
    CHECK(fs::is_symlink(folder.path("link")));
    CHECK(bytes_of(folder.path("target")) == "new");
    CHECK(folder.files() == 2);
}

TEST_CASE("a link to what is not there yet, and one in another folder, lead to the file that is written") {
    const Folder folder;
    fs::create_directory(folder.path("inner"));
    fs::create_symlink("new", folder.path("link"));
    fs::create_symlink("../link", folder.path("inner/link"));
    gpulab::OutputFile(folder.path("inner/link")).write("x");
    CHECK(fs::is_symlink(folder.path("link")));
    CHECK(fs::is_symlink(folder.path("inner/link")));
    CHECK_FALSE(fs::is_symlink(folder.path("new")));
    CHECK(bytes_of(folder.path("new")) == "x");
    fs::create_symlink("circle", folder.path("circle"));
    CHECK_THROWS_MATCHES(
        gpulab::OutputFile(folder.path("circle")), gpulab::UsageError,
        Catch::Matchers::Message("cannot write " + folder.path("circle") + ": Too many levels of symbolic links"));
    fs::create_symlink("inner", folder.path("to_folder"));
    CHECK_THROWS_AS(gpulab::OutputFile(folder.path("to_folder")), gpulab::UsageError);
}

TEST_CASE("two names of one file are seen as one, through links and before there is a file") {
    const Folder folder;
    fs::create_directory(folder.path("inner"));
    fs::create_symlink("new", folder.path("link"));
    fs::create_symlink("inner", folder.path("folder"));
    using gpulab::same_file;
    for (const bool exists : {false, true}) {
        if (exists) std::ofstream(folder.path("new")) << "x";
        CHECK(same_file(folder.path("new"), folder.path("new")));
        CHECK(same_file(folder.path("new"), folder.path("inner/../new")));
        CHECK(same_file(folder.path("link"), folder.path("new")));
        CHECK(same_file(folder.path("inner/a"), folder.path("folder/a")));
        CHECK_FALSE(same_file(folder.path("new"), folder.path("inner/new")));
        CHECK_FALSE(same_file(folder.path("new"), folder.path("other")));
    }
    fs::create_hard_link(folder.path("new"), folder.path("hard"));
    CHECK(same_file(folder.path("new"), folder.path("hard")));
    fs::create_symlink("circle", folder.path("circle"));
    CHECK_FALSE(same_file(folder.path("new"), folder.path("circle")));
}

TEST_CASE("a name may be as long as the system allows, and a longer one is refused at once") {
    const Folder folder;
    std::string accents = "x";
    for (int i = 0; i < 127; ++i) accents += "\xC3\xA4"; // 255 bytes of UTF-8, of which a temporary has the first 99
    for (const std::string& name : {std::string(250, 'a'), std::string(255, 'a'), accents}) {
        gpulab::OutputFile file(folder.path(name));
        file.prepare("x");
        int temporaries = 0;
        for (const auto& entry : fs::directory_iterator(folder.path())) {
            const std::string temporary = entry.path().filename().string();
            if (!temporary.ends_with(".part")) continue;
            ++temporaries;
            if (name == accents) CHECK(temporary.rfind('.', temporary.size() - 6) == 99); // no half of a character
        }
        CHECK(temporaries == 1);
        file.commit();
        CHECK(bytes_of(folder.path(name)) == "x");
    }
    CHECK(folder.files() == 3);
    const std::string too_long = folder.path(std::string(256, 'a'));
    CHECK_THROWS_MATCHES(gpulab::OutputFile(too_long), gpulab::UsageError,
                         Catch::Matchers::Message("cannot write " + too_long + ": File name too long"));
}

TEST_CASE("a relative link to itself is refused") {
    const Folder folder;
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    fs::create_symlink("l", "l");
    CHECK_THROWS_AS(gpulab::OutputFile("l"), gpulab::UsageError);
    fs::current_path(before);
    CHECK(fs::is_symlink(folder.path("l")));
    CHECK(folder.files() == 1);
}

TEST_CASE("moving a file moves the duty to clean up") {
    const Folder folder;
    gpulab::OutputFile a(folder.path("a"));
    gpulab::OutputFile b(std::move(a));
    gpulab::OutputFile c;
    c = std::move(b);
    c.write("x");
    CHECK(bytes_of(folder.path("a")) == "x");
    CHECK(folder.files() == 1);
}

TEST_CASE("between prepare and commit the old file stands, and one temporary beside it") {
    const Folder folder;
    std::ofstream(folder.path("a")) << "old";
    {
        gpulab::OutputFile file(folder.path("a"));
        file.prepare("first");
        CHECK(bytes_of(folder.path("a")) == "old");
        CHECK(folder.files() == 2);
        file.prepare("second"); // takes the place of the first
        CHECK(bytes_of(folder.path("a")) == "old");
        CHECK(folder.files() == 2);
        file.commit();
        CHECK(bytes_of(folder.path("a")) == "second");
        CHECK(folder.files() == 1);
        file.commit(); // nothing is left to do
        CHECK(bytes_of(folder.path("a")) == "second");
        file.prepare("third");
    } // never committed
    CHECK(bytes_of(folder.path("a")) == "second");
    CHECK(folder.files() == 1);
}

TEST_CASE("an old file is replaced, not written over: who holds it open keeps the old content") {
    const Folder folder;
    std::ofstream(folder.path("a")) << "old";
    std::ifstream reader(folder.path("a"));
    gpulab::OutputFile(folder.path("a")).write("much longer than before");
    CHECK(std::string{std::istreambuf_iterator<char>(reader), {}} == "old");
    CHECK(bytes_of(folder.path("a")) == "much longer than before");
    gpulab::OutputFile(folder.path("a")).write("");
    CHECK(bytes_of(folder.path("a")).empty());
}

TEST_CASE("a file that cannot take its name leaves nothing behind") {
    const Folder folder;
    gpulab::OutputFile file(folder.path("a"));
    file.prepare("x");
    fs::create_directory(folder.path("a")); // meanwhile
    CHECK_THROWS_AS(file.commit(), gpulab::Error);
    CHECK(folder.files() == 1);
}

TEST_CASE("assigning to a file that was prepared drops what it had prepared") {
    const Folder folder;
    {
        gpulab::OutputFile a(folder.path("a")), b(folder.path("b"));
        a.prepare("x");
        b.prepare("y");
        a = std::move(b);
        CHECK(a.path() == folder.path("b"));
        a.commit();
    }
    CHECK(bytes_of(folder.path("b")) == "y");
    CHECK(folder.files() == 1);
    CHECK_FALSE(gpulab::OutputFile());
    CHECK(gpulab::OutputFile(folder.path("a")));
}

#if !defined(_WIN32)
namespace {

unsigned mode_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777u;
}

/// Runs a function in a process of its own. @return what it returns; 99 when it throws
int in_child(const std::function<int()>& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int code = 99;
        try {
            code = body();
        } catch (...) {
        }
        std::fflush(nullptr);
        ::_exit(code);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Sets the umask while it lives.
struct Umask {
    explicit Umask(mode_t wish) : before(::umask(wish)) {}
    ~Umask() { ::umask(before); }
    Umask(const Umask&) = delete;
    Umask& operator=(const Umask&) = delete;
    mode_t before;
};

} // namespace

TEST_CASE("a new file has the permissions that the umask leaves, a replaced one those that it had") {
    const Folder folder;
    const Umask strict(027);
    gpulab::OutputFile(folder.path("new")).write("x");
    CHECK(mode_of(folder.path("new")) == 0640);
    for (const mode_t mode : {0600u, 0644u, 0666u, 0755u}) {
        const std::string path = folder.path("old");
        std::ofstream(path) << "old";
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        gpulab::OutputFile file(path);
        file.prepare("new");
        CHECK(folder.files() == 3);
        for (const auto& entry : fs::directory_iterator(folder.path())) // no one else may read the temporary either
            if (entry.path().extension() == ".part") CHECK(mode_of(entry.path().string()) == mode);
        file.commit();
        CHECK(mode_of(path) == mode);
        CHECK(bytes_of(path) == "new");
    }
    fs::create_symlink("old", folder.path("link"));
    REQUIRE(::chmod(folder.path("old").c_str(), 0604) == 0);
    gpulab::OutputFile(folder.path("link")).write("x");
    CHECK(mode_of(folder.path("old")) == 0604);
}

TEST_CASE("a replaced file keeps its owner and group") {
    if (::geteuid() != 0) SKIP("only the superuser can give files away");
    const Folder folder;
    const std::string path = folder.path("a");
    std::ofstream(path) << "old";
    REQUIRE(::chown(path.c_str(), 12345, 23456) == 0);
    gpulab::OutputFile(path).write("new");
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK(status.st_uid == 12345);
    CHECK(status.st_gid == 23456);
}

TEST_CASE("a file that may not be written is refused, and stays") {
    const Folder folder;
    const std::string path = folder.path("a");
    std::ofstream(path) << "precious";
    REQUIRE(::chmod(path.c_str(), 0444) == 0);
    REQUIRE(::chmod(folder.path().c_str(), 0777) == 0); // it could be replaced
    const int code = in_child([&] {
        if (::geteuid() == 0 && ::setuid(65534) != 0) return 3; // the superuser may write anything
        try {
            gpulab::OutputFile file(path);
            return 1;
        } catch (const gpulab::UsageError& e) {
            return std::string(e.what()) == "cannot write " + path + ": Permission denied" ? 0 : 2;
        }
    });
    CHECK(code == 0);
    CHECK(bytes_of(path) == "precious");
    CHECK(folder.files() == 1);
}

TEST_CASE("a file that does not fit leaves the old one and no temporary") {
    const Folder folder;
    const std::string path = folder.path("a");
    std::ofstream(path) << "old";
    const int code = in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit least{1000, 1000};
        if (::setrlimit(RLIMIT_FSIZE, &least) != 0) return 3;
        gpulab::OutputFile file(path);
        try {
            file.write(std::string(100'000, 'x'));
            return 1;
        } catch (const gpulab::Error& e) {
            if (std::string(e.what()) != "cannot write " + path + ": File too large") return 2;
            return folder.files() == 1 ? 0 : 4;
        }
    });
    CHECK(code == 0);
    CHECK(bytes_of(path) == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a pipe is written at once, and stays a pipe") {
    const Folder folder;
    const std::string path = folder.path("pipe");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    {
        gpulab::OutputFile file(path);
        file.prepare("through");
        char text[16] = {};
        CHECK(::read(reader, text, sizeof(text)) == 7);
        CHECK(std::string(text) == "through");
        file.commit();
    }
    CHECK(fs::is_fifo(path));
    CHECK(folder.files() == 1);
    ::close(reader);
}

TEST_CASE("a pipe that is moved stays a pipe") {
    const Folder folder;
    const std::string path = folder.path("pipe");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    gpulab::OutputFile assigned;
    assigned = gpulab::OutputFile(path); // as the report does
    assigned.write("one");
    gpulab::OutputFile moved(std::move(assigned));
    moved.write("two");
    char text[16] = {};
    CHECK(::read(reader, text, sizeof(text)) == 6);
    CHECK(std::string(text) == "onetwo");
    CHECK(fs::is_fifo(path));
    ::close(reader);
}

TEST_CASE("a pipe that no program reads is an error after five seconds, not an endless wait") {
    CHECK(std::exchange(gpulab::patience_for_pipes, std::chrono::milliseconds(50)) == std::chrono::seconds(5));
    const Folder folder;
    const std::string path = folder.path("pipe");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    gpulab::OutputFile file(path);
    CHECK_THROWS_MATCHES(file.write("x"), gpulab::Error,
                         Catch::Matchers::Message("cannot write " + path + ": no program reads this pipe"));
    CHECK(fs::is_fifo(path));
    gpulab::patience_for_pipes = std::chrono::seconds(5);
}

TEST_CASE("a pipe whose reader comes late is written, however much goes through it") {
    const Folder folder;
    const std::string path = folder.path("pipe");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const std::string text(1'000'000, 'x'); // more than a pipe holds
    std::string got;
    std::thread reader([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        got = bytes_of(path);
    });
    gpulab::OutputFile(path).write(text);
    reader.join();
    CHECK(got == text);
}

namespace {

/// Runs a function in a process of its own, as a user without special rights, with the signals as a program finds them.
/// @return the status of waitpid()
int status_of_user(const std::function<int()>& body) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int code = 99;
        for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ})
            std::signal(signal, SIG_DFL);
        const rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        try {
            if (::geteuid() != 0 || ::setuid(65534) == 0) code = body();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
        ::_exit(code);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return status;
}

int code_of_user(const std::function<int()>& body) {
    const int status = status_of_user(body);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_CASE("a signal that ends the program leaves no temporary file, and still ends it") {
    for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU}) {
        INFO("signal " << signal);
        const Folder folder;
        REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
        std::ofstream(folder.path("a")) << "old";
        REQUIRE(::chmod(folder.path("a").c_str(), 0666) == 0);
        const int status = status_of_user([&] {
            gpulab::OutputFile a(folder.path("a")), b(folder.path("b")), c(folder.path("c"));
            a.prepare("new");
            b.prepare("new");
            c.write("kept"); // has its name already
            if (folder.files() != 4) return 1;
            ::raise(signal);
            return 2;
        });
        INFO("status " << status);
        REQUIRE(WIFSIGNALED(status));
        CHECK(WTERMSIG(status) == signal);
        CHECK(folder.files() == 2);
        CHECK(bytes_of(folder.path("a")) == "old");
        CHECK(bytes_of(folder.path("c")) == "kept");
    }
}

TEST_CASE("however many files have been written, a signal removes the temporary one and none of those") {
    const Folder folder;
    REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
    const int status = status_of_user([&] {
        for (int i = 0; i < 40; ++i)
            gpulab::OutputFile(folder.path("frame")).write("kept"); // 16 names are noted at most
        std::vector<gpulab::OutputFile> files;
        for (int i = 0; i < 16; ++i) files.emplace_back(folder.path(std::to_string(i))).prepare("new");
        files[7].commit();
        if (folder.files() != 17) return 1;
        ::raise(SIGTERM);
        return 2;
    });
    CHECK(WIFSIGNALED(status));
    CHECK(folder.files() == 2);
    CHECK(bytes_of(folder.path("frame")) == "kept");
    CHECK(bytes_of(folder.path("7")) == "new");
}

namespace {

/// A handler as that of PoCL's compiler: cleans up, and ends the program by the same signal.
extern "C" void earlier_handler(int signal) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

/// The same, but it comes back to the handler that it has found.
struct sigaction found_by_later;
extern "C" void later_handler(int signal) {
    ::sigaction(signal, &found_by_later, nullptr);
    std::raise(signal);
}
} // namespace

TEST_CASE("a signal for which a library has a handler leaves no temporary file either") {
    for (const int signal : {SIGINT, SIGTERM}) {
        INFO("signal " << signal);
        const Folder folder;
        REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
        for (const bool later : {false, true}) {
            INFO("a later handler: " << later);
            const int status = status_of_user([&] {
                std::signal(signal, earlier_handler);
                gpulab::OutputFile a(folder.path("a"));
                a.prepare("new");
                if (later) { // a library that comes after the first file
                    struct sigaction action {};
                    action.sa_handler = later_handler;
                    ::sigaction(signal, &action, &found_by_later);
                    gpulab::OutputFile b(folder.path("b"));
                    b.prepare("new");
                }
                if (folder.files() != 1) return 1; // b is gone again
                ::raise(signal);
                return 2;
            });
            INFO("status " << status);
            REQUIRE(WIFSIGNALED(status));
            CHECK(WTERMSIG(status) == signal);
            CHECK(folder.files() == 0);
        }
    }
}

TEST_CASE("a signal that the program was started to ignore stays ignored") {
    const Folder folder;
    REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
    CHECK(code_of_user([&] {
              std::signal(SIGHUP, SIG_IGN); // as nohup does
              gpulab::OutputFile file(folder.path("a"));
              file.prepare("x");
              ::raise(SIGHUP);
              file.commit();
              return 0;
          }) == 0);
    CHECK(bytes_of(folder.path("a")) == "x");
}

TEST_CASE("a folder that takes no file, or none of that size, is known with the reason, and nothing is left in it") {
    const Folder folder;
    REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
    CHECK(gpulab::why_not_writable(folder.path("new/inner"), 1 << 20).empty());
    CHECK(fs::is_empty(folder.path("new/inner")));
    std::ofstream(folder.path("file")) << "x";
    CHECK(gpulab::why_not_writable(folder.path("file"), 1) == "Not a directory");
    CHECK(gpulab::why_not_writable(folder.path("file/inner"), 1) == "Not a directory");
    CHECK(code_of_user([&] {
              const rlimit least{100'000, 100'000};
              if (::setrlimit(RLIMIT_FSIZE, &least) != 0) return 3;
              if (gpulab::why_not_writable(folder.path(), 1 << 20) != "File too large") return 1;
              return gpulab::why_not_writable(folder.path(), 50'000).empty() ? 0 : 2;
          }) == 0);
    CHECK(folder.files() == 2);
    if (fs::exists("/dev/full")) CHECK_FALSE(gpulab::why_not_writable("/dev/full", 1).empty());
}

TEST_CASE("a file beyond the limit of file sizes is an error, not a signal, and leaves nothing behind") {
    const Folder folder;
    REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
    const std::string path = folder.path("a");
    CHECK(code_of_user([&] {
              gpulab::OutputFile file(path);
              const rlimit least{1000, 1000};
              if (::setrlimit(RLIMIT_FSIZE, &least) != 0) return 3;
              try {
                  file.write(std::string(100'000, 'x'));
              } catch (const gpulab::Error& e) {
                  return std::string(e.what()) == "cannot write " + path + ": File too large" ? 0 : 2;
              }
              return 1;
          }) == 0);
    CHECK(folder.files() == 0);
}

TEST_CASE("a file that may be written in a folder that may not is overwritten, only by commit") {
    const Folder folder;
    const std::string path = folder.path("a");
    for (const mode_t mode : {0555u, 01777u}) { // sticky, like /tmp: only the owner of the file may replace it
        INFO("mode " << std::oct << mode);
        if (::geteuid() != 0 && mode == 01777u) continue; // the file would be the user's own
        std::ofstream(path) << "old, and longer than the new content";
        REQUIRE(::chmod(path.c_str(), 0666) == 0);
        fs::create_symlink(path, folder.path("link"));
        REQUIRE(::chmod(folder.path().c_str(), mode) == 0);
        CHECK(code_of_user([&] {
                  gpulab::OutputFile first(path), second;
                  first.prepare("not committed");
                  if (bytes_of(path) != "old, and longer than the new content") return 1;
                  second = gpulab::OutputFile(folder.path("link"));
                  second.prepare("new");
                  if (bytes_of(path) != "old, and longer than the new content") return 2;
                  second.commit();
                  second.commit(); // nothing is left to do
                  return folder.files() == 2 ? 0 : 3;
              }) == 0);
        CHECK(bytes_of(path) == "new");
        CHECK(mode_of(path) == 0666);
        REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
        fs::remove(folder.path("link"));
    }
    REQUIRE(::chmod(folder.path().c_str(), 0555) == 0);
    CHECK(code_of_user([&] {
              try {
                  gpulab::OutputFile file(folder.path("new"));
              } catch (const gpulab::UsageError& e) {
                  return std::string(e.what()) == "cannot write " + folder.path("new") + ": Permission denied" ? 0 : 2;
              }
              return 1;
          }) == 0);
    REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
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
                gpulab::OutputFile json;
                json = gpulab::OutputFile(by_name ? path : stream == STDOUT_FILENO ? "/dev/stdout" : "/dev/stderr");
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

TEST_CASE("an output that stdout cannot take is an error") {
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
    CHECK(flush_to("/dev/null") == 0);
    CHECK_THROWS_AS(gpulab::OutputFile("/dev/full").write("x"), gpulab::Error);
}
#endif
