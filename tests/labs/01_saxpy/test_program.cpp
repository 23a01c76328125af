// The program as a user runs it: its options, files and exit codes; and the hand-out against the variant table.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#if !defined(_WIN32)
#include <sys/wait.h>
#endif

#include "checks.hpp"
#include "distances.hpp"
#include "gpulab/device.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/hand_out.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"
#include "saxpy.hpp"
#include "studies.hpp"

using gpulab::Backend;
using gpulab::testing::names_of;
using Words = std::set<std::string>;

namespace {
const gpulab::testing::Program program("saxpy", SAXPY_PROGRAM);

/// The rungs that fail their own test, which this file does not report again.
gpulab::testing::KnownWrong wrong_rungs(std::size_t n) {
    const auto sums = gpulab::testing::known_wrong(saxpy::variants(), [n](saxpy::Run* run) {
        return saxpy::testing::first_fault(run, {100, n});
    });
    const auto distances = gpulab::testing::known_wrong(saxpy::distance_variants(), [n](saxpy::DistanceRun* run) {
        return saxpy::testing::first_distance_fault(run, {100, n});
    });
    return [=](const std::string& variant, const std::string& device) {
        return sums(variant, device) || distances(variant, device);
    };
}
} // namespace

TEST_CASE("the README's ladder is the variant table") {
    CHECK(gpulab::testing::variants_in_ladder(SAXPY_README) == names_of(saxpy::variants(), saxpy::distance_variants()));
}

TEST_CASE("the README names every study") {
    CHECK(gpulab::testing::absent_from(SAXPY_README, gpulab::testing::names_of_studies(saxpy::study_list())) ==
          Words{});
}

TEST_CASE("the program lists every variant (--list), study (--study list) and option (--help) and exits 0") {
    CHECK(program.missing("--list", names_of(saxpy::variants(), saxpy::distance_variants())) == Words{});
    CHECK(program.missing("--study list", gpulab::testing::names_of_studies(saxpy::study_list())) == Words{});
    CHECK(program.missing("--help", {"--list", "--variant", "--backend", "--device", "--repeat", "--warmup", "--seed",
                                     "--study", "--json", "--csv", "--help", "--n", "--op"}) == Words{});
}

#if !defined(_WIN32)
TEST_CASE("a cache that PoCL cannot write is an error that names it, and the CPU's results are kept", "[opencl]") {
    const auto& devices = gpulab::testing::devices_or_skip(Backend::opencl);
    if (devices.front().platform != "Portable Computing Language") SKIP("needs PoCL");
    const gpulab::testing::ScratchFile file, json;
    const gpulab::testing::ScratchFolder folder;
    file.write("no folder");
    // A limit for the size of files stands for a full disk.
    for (const auto& [before, cache, why] : {std::array<std::string, 3>{"", file.path(), "Not a directory"},
                                             {"ulimit -f 200; ", folder.path(), "File too large"}}) {
        const gpulab::testing::Environment set("POCL_CACHE_DIR", cache.c_str());
        const gpulab::testing::ScratchFile err;
        const std::string command = before + SAXPY_PROGRAM + " --n 1000 --repeat 1 --backend cpu,opencl --json " +
                                    json.path() + " > /dev/null 2> " + err.path();
        const int status = std::system(command.c_str());
        CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 2));
        CHECK(err.text() == "saxpy: PoCL cannot write compiled kernels to its cache, " + cache + ": " + why +
                                " (POCL_CACHE_DIR names another folder)\n");
        const auto variants = json.json()["variants"];
        CHECK(variants.size() >= 2);
        for (const auto& v : variants) CHECK((v["backend"] == "cpu" && v["status"] == "passed"));
    }
}
#endif

TEST_CASE("bad input is one line on stderr, exit code 2 and no file") {
    for (const std::string arguments : {"--n -5",
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
                                        "--study growth --n 15",
                                        "--study coalescing --op distances",
                                        "--study threads --backend opencl",
                                        "--study thread-each --backend opencl",
                                        "--study thread-each --n 100",
                                        "--study divergence --n 2^22",
                                        "--study memories --n 2^22",
                                        "--study alignment --n 6148914691236517205",
                                        "--variant 'a\nb'"}) {
        INFO(arguments);
        CHECK(program.refusal_fault(arguments) == "");
    }
}

TEST_CASE("a missing back end is an error only when it was requested by name") {
    const int with_cuda = program("--n 1000 --backend cuda --repeat 1").exit_code;
    CHECK((gpulab::devices(Backend::cuda).empty() ? with_cuda == 2 : with_cuda <= 1));
    CHECK(program("--n 1000 --repeat 1").exit_code <= 1); // 1: a variant is wrong, which its own test reports
}

TEST_CASE("a full run passes every variant that can run, skips the others with reasons, and writes both files") {
    const gpulab::testing::ScratchFile csv;
    const auto run = program.results("--n 1000003 --repeat 2 --csv " + csv.path());
    CHECK(run["lab"] == "saxpy");
    CHECK(run["problem"]["n"] == 1000003);
    CHECK(run["variants"].size() == gpulab::testing::rows_of(saxpy::variants()));
    CHECK(gpulab::testing::run_fault(run, wrong_rungs(1000003)) == "");
    CHECK(csv.text().find("cpu_sequential") != std::string::npos);
}

TEST_CASE("a study that needs a device says why there is none of a back end that was named") {
    if (!gpulab::devices(Backend::cuda).empty()) SKIP("there is a CUDA device");
    for (const std::string study : {"table-2-1", "coalescing"}) {
        const std::string told = program("--study " + study + " --backend cuda").err;
        CHECK(told.find(gpulab::why_no_devices(Backend::cuda)) != std::string::npos);
    }
}

TEST_CASE("table 2.2 has the copies and the kernel in one time, and the total beside it") {
    if (gpulab::devices(Backend::opencl).empty() && gpulab::devices(Backend::cuda).empty()) SKIP("no device");
    const gpulab::testing::ScratchFile json;
    const auto run = program("--study table-2-2 --repeat 2 --json " + json.path());
    REQUIRE(run.exit_code == 0);
    CHECK(run.out.find("total ms") != std::string::npos);
    const auto runs = json.json();
    CHECK(runs.size() == 6);
    for (const auto& one : runs) {
        REQUIRE_FALSE(one["variants"].empty());
        for (const auto& v : one["variants"]) {
            CHECK(v["name"].get<std::string>().ends_with("_copies_and_kernel"));
            CHECK(v["parallel_ms"] == v["kernel_ms"]["median"]);
            CHECK(v["total_ms"] != v["parallel_ms"]);
            CHECK(v["percent_of_ceiling"].is_null()); // the copy within the device is no bound for the link
        }
    }
}

TEST_CASE("both operations run, and every study runs and writes a list of runs") {
    CHECK(gpulab::testing::run_fault(program.results("--op distances --n 10007 --repeat 1"), wrong_rungs(10007)) == "");
    if (gpulab::devices(Backend::opencl).empty() && gpulab::devices(Backend::cuda).empty()) {
        CHECK(program("--study coalescing").exit_code == 2); // no device here has kernels to study
        return;
    }
    for (const auto& study : saxpy::study_list()) {
        if (study.name == "growth") continue; // see below
        INFO(study.name);
        CHECK(program.study_fault(study.name, study.takes.empty() ? "" : "--n 10007", 1, wrong_rungs(10007)) == "");
    }
}

TEST_CASE("the study of growth has the time per element at each size") {
    CHECK(program.growth_fault(
              "--n 5000", "ns_per_element", 5, // 16 ... 4096
              [](const auto& problem, const auto&) { return problem["n"].template get<double>(); },
              wrong_rungs(5000)) == "");
}
