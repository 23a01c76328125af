// The program as a user meets it: its options, its files, its exit codes; and the hand-out against the variant table.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "distances.hpp"
#include "gpulab/device.hpp"
#include "gpulab_testing/hand_out.hpp"
#include "saxpy.hpp"
#include "studies.hpp"

namespace fs = std::filesystem;
using gpulab::Backend;
using gpulab::testing::Outcome;

namespace {

Outcome saxpy_program(const std::string& arguments) { return gpulab::testing::run_program(SAXPY_PROGRAM, arguments); }

std::string fresh_path() {
    return (fs::temp_directory_path() / ("gpulab_saxpy_" + std::to_string(std::random_device{}()))).string();
}

} // namespace

TEST_CASE("the README's ladder is the variant table") {
    CHECK(gpulab::testing::variants_in_ladder(SAXPY_README) ==
          gpulab::testing::names_of(saxpy::variants(), saxpy::distance_variants()));
}

TEST_CASE("the program lists every variant (--list), study (--study list) and option (--help) and exits 0") {
    const Outcome list = saxpy_program("--list");
    CHECK(list.exit_code == 0);
    for (const auto& name : gpulab::testing::names_of(saxpy::variants(), saxpy::distance_variants()))
        CHECK(list.out.find(name) != std::string::npos);
    const Outcome studies = saxpy_program("--study list");
    CHECK(studies.exit_code == 0);
    for (const auto& study : saxpy::study_list()) CHECK(studies.out.find(study.name) != std::string::npos);
    const Outcome help = saxpy_program("--help");
    CHECK(help.exit_code == 0);
    for (const char* option : {"--list", "--variant", "--backend", "--device", "--repeat", "--warmup", "--seed",
                               "--study", "--json", "--csv", "--help", "--n", "--op"})
        CHECK(help.out.find(option) != std::string::npos);
}

TEST_CASE("bad input is one line on stderr, exit code 2 and no file") {
    const std::string json = fresh_path();
    for (const char* arguments : {"--n -5",
                                  "--n 0",
                                  "--n x",
                                  "--n 1e15",
                                  "--n 2^70",
                                  "--variant cuda_nothing",
                                  "--backend vulkan",
                                  "--device cuda:77",
                                  "--study nothing",
                                  "--op multiply",
                                  "--repeat 0",
                                  "--frobnicate",
                                  "stray",
                                  "--variant cpu_distances",
                                  "--csv /nonexistent/folder/x.csv",
                                  "--n ''",
                                  "--csv ''",
                                  "--variant cpu_blocks,cpu_distances",
                                  "--variant cpu_blocks,opencl_raw --backend cpu",
                                  "--study coalescing --variant cpu_blocks",
                                  "--study table-2-1 --n 1000",
                                  "--study coalescing --op distances",
                                  "--study alignment --n 6148914691236517205",
                                  "--variant 'a\nb'"}) {
        INFO(arguments);
        const Outcome outcome = saxpy_program(std::string(arguments) + " --json " + json);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.error_lines() == 1);
        CHECK(outcome.err.starts_with("saxpy: "));
        CHECK_FALSE(fs::exists(json));
    }
}

TEST_CASE("a missing back end is an error only when asked for by name") {
    const Outcome outcome = saxpy_program("--n 1000 --backend cuda --repeat 1");
    CHECK(outcome.exit_code == (gpulab::devices(Backend::cuda).empty() ? 2 : 0));
    CHECK(saxpy_program("--n 1000 --repeat 1").exit_code == 0);
}

TEST_CASE("a run over everything passes what can run, skips the rest with reasons, and writes both files") {
    const std::string json = fresh_path(), csv = fresh_path();
    const Outcome outcome = saxpy_program("--n 1000003 --repeat 2 --json " + json + " --csv " + csv);
    REQUIRE(outcome.exit_code == 0);
    nlohmann::json run;
    std::ifstream(json) >> run;
    CHECK(run["lab"] == "saxpy");
    CHECK(run["problem"]["n"] == 1000003);
    std::size_t expected = 0;
    for (const auto& v : saxpy::variants()) expected += std::max<std::size_t>(1, gpulab::devices(v.backend).size());
    CHECK(run["variants"].size() == expected);
    for (const auto& v : run["variants"]) {
        const std::string name = v["name"], backend = v["backend"], status = v["status"];
        INFO(name);
        if (backend == "cpu") CHECK(status == "passed");
        if (backend == "opencl" && !gpulab::devices(Backend::opencl).empty()) CHECK(status == "passed");
        if (backend == "cuda" && gpulab::devices(Backend::cuda).empty()) CHECK(status == "skipped");
        if (status == "skipped") CHECK_FALSE(v["reason"].get<std::string>().empty());
        if (status == "passed") {
            CHECK(v["kernel_ms"]["median"] > 0);
            CHECK(v["total_ms"] > 0);
            CHECK(v["percent_of_ceiling"] > 0);
            CHECK(v["speedup"] > 0);
            CHECK(v["error"] <= v["tolerance"]);
        }
    }
    CHECK(fs::file_size(csv) > 0);
    fs::remove(json);
    fs::remove(csv);
}

TEST_CASE("both operations run and every study runs and writes a list of runs") {
    CHECK(saxpy_program("--op distances --n 10007 --repeat 1").exit_code == 0);
    if (gpulab::devices(Backend::opencl).empty() && gpulab::devices(Backend::cuda).empty()) {
        CHECK(saxpy_program("--study coalescing").exit_code == 2); // nothing here has kernels to study
        return;
    }
    for (const auto& study : saxpy::study_list()) {
        INFO(study.name);
        const std::string json = fresh_path();
        CHECK(saxpy_program("--study " + study.name + (study.takes.empty() ? "" : " --n 10007") +
                            " --repeat 1 --warmup 0 --json " + json)
                  .exit_code == 0);
        nlohmann::json runs;
        std::ifstream(json) >> runs;
        CHECK(runs.is_array());
        CHECK_FALSE(runs.empty());
        for (const auto& run : runs)
            for (const auto& v : run["variants"]) CHECK(v["status"] != "failed");
        fs::remove(json);
    }
}
