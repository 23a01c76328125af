#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"

#if !defined(_WIN32)
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace fs = std::filesystem;

namespace {

/// A folder that is gone after the test.
struct Folder {
    fs::path path = fs::temp_directory_path() / ("gpulab_test_file_" + std::to_string(std::random_device{}()));
    Folder() { fs::create_directory(path); }
    ~Folder() { fs::remove_all(path); }
    std::string at(const char* name) const { return (path / name).string(); }
    auto files() const { return std::distance(fs::directory_iterator(path), fs::directory_iterator{}); }
};

std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

TEST_CASE("a file appears whole and under its own name only") {
    const Folder folder;
    gpulab::OutputFile file(folder.at("a.json"));
    CHECK(folder.files() == 0); // nothing is left behind by a program that is stopped while it computes
    file.write("complete\n");
    CHECK(content(folder.at("a.json")) == "complete\n");
    CHECK(folder.files() == 1);
}

TEST_CASE("a file that is never written leaves nothing behind and an old one untouched") {
    const Folder folder;
    std::ofstream(folder.at("old.json")) << "old";
    {
        const gpulab::OutputFile replaced(folder.at("old.json"));
        const gpulab::OutputFile fresh(folder.at("new.json"));
    }
    CHECK(content(folder.at("old.json")) == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a place that cannot be written is refused at once, with its name") {
    const Folder folder;
    CHECK_THROWS_AS(gpulab::OutputFile(folder.at("missing/a.json")), gpulab::UsageError);
    CHECK_THROWS_AS(gpulab::OutputFile(folder.path.string()), gpulab::UsageError);
    CHECK(folder.files() == 0);
}

TEST_CASE("a file of the user's that has the name of a temporary one is left alone") {
    const Folder folder;
    std::ofstream(folder.at("a.part")) << "precious";
    gpulab::OutputFile(folder.at("a")).write("x");
    CHECK(content(folder.at("a.part")) == "precious");
    CHECK(content(folder.at("a")) == "x");
}

TEST_CASE("a link stays a link, and what it points to is written") {
    const Folder folder;
    std::ofstream(folder.at("target")) << "old";
    fs::create_symlink(folder.at("target"), folder.at("link"));
    gpulab::OutputFile(folder.at("link")).write("new");
    CHECK(fs::is_symlink(folder.at("link")));
    CHECK(content(folder.at("target")) == "new");
    CHECK(folder.files() == 2);
}

TEST_CASE("a link to what is not there yet, and one in another folder, lead to the file that is written") {
    const Folder folder;
    fs::create_directory(folder.at("inner"));
    fs::create_symlink("new", folder.at("link"));
    fs::create_symlink("../link", folder.at("inner/link"));
    gpulab::OutputFile(folder.at("inner/link")).write("x");
    CHECK(fs::is_symlink(folder.at("link")));
    CHECK(fs::is_symlink(folder.at("inner/link")));
    CHECK_FALSE(fs::is_symlink(folder.at("new")));
    CHECK(content(folder.at("new")) == "x");
    fs::create_symlink("circle", folder.at("circle"));
    CHECK_THROWS_MATCHES(
        gpulab::OutputFile(folder.at("circle")), gpulab::UsageError,
        Catch::Matchers::Message("cannot write " + folder.at("circle") + ": Too many levels of symbolic links"));
    fs::create_symlink("inner", folder.at("to_folder"));
    CHECK_THROWS_AS(gpulab::OutputFile(folder.at("to_folder")), gpulab::UsageError);
}

TEST_CASE("moving a file moves the duty to clean up") {
    const Folder folder;
    gpulab::OutputFile a(folder.at("a"));
    gpulab::OutputFile b(std::move(a));
    gpulab::OutputFile c;
    c = std::move(b);
    c.write("x");
    CHECK(content(folder.at("a")) == "x");
    CHECK(folder.files() == 1);
}

TEST_CASE("between prepare and commit the old file stands, and one temporary beside it") {
    const Folder folder;
    std::ofstream(folder.at("a")) << "old";
    {
        gpulab::OutputFile file(folder.at("a"));
        file.prepare("first");
        CHECK(content(folder.at("a")) == "old");
        CHECK(folder.files() == 2);
        file.prepare("second"); // takes the place of the first
        CHECK(content(folder.at("a")) == "old");
        CHECK(folder.files() == 2);
        file.commit();
        CHECK(content(folder.at("a")) == "second");
        CHECK(folder.files() == 1);
        file.commit(); // nothing is left to do
        CHECK(content(folder.at("a")) == "second");
        file.prepare("third");
    } // never committed
    CHECK(content(folder.at("a")) == "second");
    CHECK(folder.files() == 1);
}

TEST_CASE("an old file is replaced, not written over: who holds it open keeps the old content") {
    const Folder folder;
    std::ofstream(folder.at("a")) << "old";
    std::ifstream reader(folder.at("a"));
    gpulab::OutputFile(folder.at("a")).write("much longer than before");
    CHECK(std::string{std::istreambuf_iterator<char>(reader), {}} == "old");
    CHECK(content(folder.at("a")) == "much longer than before");
    gpulab::OutputFile(folder.at("a")).write("");
    CHECK(content(folder.at("a")).empty());
}

TEST_CASE("a file that cannot take its name leaves nothing behind") {
    const Folder folder;
    gpulab::OutputFile file(folder.at("a"));
    file.prepare("x");
    fs::create_directory(folder.at("a")); // meanwhile
    CHECK_THROWS_AS(file.commit(), gpulab::Error);
    CHECK(folder.files() == 1);
}

TEST_CASE("assigning to a file that was prepared drops what it had prepared") {
    const Folder folder;
    {
        gpulab::OutputFile a(folder.at("a")), b(folder.at("b"));
        a.prepare("x");
        b.prepare("y");
        a = std::move(b);
        CHECK(a.path() == folder.at("b"));
        a.commit();
    }
    CHECK(content(folder.at("b")) == "y");
    CHECK(folder.files() == 1);
    CHECK_FALSE(gpulab::OutputFile());
    CHECK(gpulab::OutputFile(folder.at("a")));
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
    gpulab::OutputFile(folder.at("new")).write("x");
    CHECK(mode_of(folder.at("new")) == 0640);
    for (const mode_t mode : {0600u, 0644u, 0666u, 0755u}) {
        const std::string path = folder.at("old");
        std::ofstream(path) << "old";
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        gpulab::OutputFile file(path);
        file.prepare("new");
        for (const auto& entry : fs::directory_iterator(folder.path)) // no one else may read the temporary either
            if (entry.path().extension() == ".part") CHECK(mode_of(entry.path().string()) == mode);
        file.commit();
        CHECK(mode_of(path) == mode);
        CHECK(content(path) == "new");
    }
    fs::create_symlink("old", folder.at("link"));
    REQUIRE(::chmod(folder.at("old").c_str(), 0604) == 0);
    gpulab::OutputFile(folder.at("link")).write("x");
    CHECK(mode_of(folder.at("old")) == 0604);
}

TEST_CASE("a replaced file keeps its owner and group") {
    if (::geteuid() != 0) SKIP("only the superuser can give files away");
    const Folder folder;
    const std::string path = folder.at("a");
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
    const std::string path = folder.at("a");
    std::ofstream(path) << "precious";
    REQUIRE(::chmod(path.c_str(), 0444) == 0);
    REQUIRE(::chmod(folder.path.c_str(), 0777) == 0); // it could be replaced
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
    CHECK(content(path) == "precious");
    CHECK(folder.files() == 1);
}

TEST_CASE("a file that does not fit leaves the old one and no temporary") {
    const Folder folder;
    const std::string path = folder.at("a");
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
    CHECK(content(path) == "old");
    CHECK(folder.files() == 1);
}

TEST_CASE("a pipe is written at once, and stays a pipe") {
    const Folder folder;
    const std::string path = folder.at("pipe");
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
    const std::string path = folder.at("pipe");
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

TEST_CASE("what goes to the file that stdout or stderr goes to follows what was printed there") {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
        for (const bool by_name : {false, true}) {
            const Folder folder;
            const std::string path = folder.at("out.txt");
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
            CHECK(content(path) == "table\nrow\njson\nend\n");
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
