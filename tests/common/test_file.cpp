#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"

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
