// The program as a user meets it, and the hand-out against the variant tables.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "dot.hpp"
#include "reduction.hpp"
#include "scan.hpp"
#include "series.hpp"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

std::string text_of(const std::string& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::set<std::string> all_variants() {
    std::set<std::string> names;
    const auto add = [&](const auto& table) {
        for (const auto& v : table) CHECK(names.insert(std::string(v.name)).second); // a name names one variant
    };
    add(reduction::sum_variants<float>());
    add(reduction::dot_variants<float>());
    add(reduction::series_variants<float>());
    add(reduction::scan_variants<float>());
    return names;
}

/// What stands between back quotes in a text and looks like a variant's name.
std::set<std::string> names_in(const std::string& text) {
    std::set<std::string> names;
    for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
        const std::size_t end = text.find('`', at + 1);
        if (end == std::string::npos) break;
        const std::string word = text.substr(at + 1, end - at - 1);
        const bool name = std::all_of(word.begin(), word.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        });
        if (name && (word.starts_with("cpu_") || word.starts_with("opencl_") || word.starts_with("cuda_")))
            names.insert(word);
        at = end + 1;
    }
    return names;
}

struct Ended {
    int code;
    std::string error; ///< what it wrote on stderr
};

/// A file name that no other test process uses: ctest may run several at once in one folder. The file is removed when
/// the tests end.
std::string scratch(const std::string& name) {
    struct Files {
        std::set<std::string> names;
        ~Files() {
            for (const std::string& file : names) std::remove(file.c_str());
        }
    };
    static Files files;
#if defined(_WIN32)
    return *files.names.insert("reduction_" + name).first;
#else
    return *files.names.insert("reduction_" + std::to_string(getpid()) + "_" + name).first;
#endif
}

/// Runs the program with these arguments.
Ended run(const std::string& arguments) {
    const std::string error = scratch("stderr.txt");
    const std::string command =
        std::string("\"") + REDUCTION_PROGRAM + "\" " + arguments + " > " + scratch("stdout.txt") + " 2> " + error;
    const int status = std::system(command.c_str());
#if defined(_WIN32)
    return {status, text_of(error)};
#else
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(error)};
#endif
}

} // namespace

TEST_CASE("the hand-out names every variant and no other") {
    const std::string readme = text_of(REDUCTION_README);
    REQUIRE(!readme.empty());
    CHECK(names_in(readme) == all_variants());
}

TEST_CASE("the tables for float and double have the same rows") {
    const auto same = [](const auto& a, const auto& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const auto& x, const auto& y) { return x.name == y.name && x.backend == y.backend; });
    };
    CHECK(same(reduction::sum_variants<float>(), reduction::sum_variants<double>()));
    CHECK(same(reduction::dot_variants<float>(), reduction::dot_variants<double>()));
    CHECK(same(reduction::series_variants<float>(), reduction::series_variants<double>()));
    CHECK(same(reduction::scan_variants<float>(), reduction::scan_variants<double>()));
    CHECK(same(reduction::scan_variants<float>(), reduction::scan_variants<int>()));
}

TEST_CASE("bad options end the program with one line and exit code 2") {
    for (const char* const arguments : {"--type int",
                                        "--op dot --type int",
                                        "--op product",
                                        "--type half",
                                        "--n -1",
                                        "--n 1.5",
                                        "--n 2^70",
                                        "--op log --x -1",
                                        "--op log --x 2",
                                        "--variant cpu_nothing",
                                        "--study nothing",
                                        "--study ladder --type int",
                                        "--study ladder --op dot",
                                        "--study size --n 100",
                                        "--study transfers --x 0.5",
                                        "--op sum --x 0.5",
                                        "--op pi --x 0.5",
                                        "--study transfers --op inclusive-scan",
                                        "--op dot --variant cpu_sequential",
                                        "--json /no/such/folder/x.json --backend cpu --n 10",
                                        "--bad"}) {
        INFO(arguments);
        const Ended ended = run(arguments);
        CHECK(ended.code == 2);
        CHECK(std::count(ended.error.begin(), ended.error.end(), '\n') == 1);
        CHECK(ended.error.starts_with("reduction: "));
    }
}

TEST_CASE("every operation runs from the command line, also for n = 0") {
    const std::string json_file = scratch("operation.json");
    for (const char* const arguments :
         {"--n 1000", "--n 0 --type double", "--op dot --n 0", "--op dot --n 1000 --type double",
          "--op inclusive-scan --n 1000 --type int", "--op exclusive-scan --n 0", "--op pi --n 1000",
          "--op log --x -0.5 --n 1000 --type double"}) {
        INFO(arguments);
        CHECK(run(std::string(arguments) + " --backend cpu --repeat 1 --json " + json_file).code == 0);
        const std::string json = text_of(json_file);
        for (const char* const key : {"\"op\"", "\"type\"", "\"n\"", "\"seed\"", "\"variants\"", "\"kernel_ms\"",
                                      "\"error\"", "\"tolerance\"", "\"percent_of_ceiling\""})
            CHECK(json.find(key) != std::string::npos);
        CHECK(json.find("\"failed\"") == std::string::npos);
    }
}

TEST_CASE("the ladder study writes a list of runs with the percent of the copy bandwidth") {
    const std::string json_file = scratch("ladder.json"), csv_file = scratch("ladder.csv");
    CHECK(run("--study ladder --backend cpu --repeat 1 --n 100000 --json " + json_file + " --csv " + csv_file).code ==
          0);
    const std::string json = text_of(json_file);
    CHECK(json.starts_with("["));
    CHECK(json.find("\"study\": \"ladder\"") != std::string::npos);
    CHECK(json.find("\"name\": \"cpu_threads_mutex\"") != std::string::npos);
    CHECK(text_of(csv_file).find("percent_of_ceiling") != std::string::npos);
}
