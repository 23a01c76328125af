// The program as a user meets it: its options, its files, its exit codes; and the hand-out against the variant table.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "checks.hpp"
#include "gpulab/device.hpp"
#include "gpulab_testing/hand_out.hpp"
#include "gpulab_testing/program.hpp"
#include "matmul.hpp"
#include "studies.hpp"

using gpulab::Backend;
using gpulab::testing::names_of;
using Words = std::set<std::string>;

namespace {
const gpulab::testing::Program program("matmul", MATMUL_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
template <class T> gpulab::testing::KnownWrong wrong_rungs(std::size_t m, std::size_t k, std::size_t n) {
    return gpulab::testing::known_wrong(matmul::variants<T>(), [=](matmul::Run<T>* run) {
        return matmul::testing::first_fault<T>(run, {{m, k, n}});
    });
}

/// The same for the study of tiles, whose kernels are those of two rungs.
gpulab::testing::KnownWrong wrong_tiles(std::size_t n) {
    return [n, rungs = wrong_rungs<float>(n, n, n)](const std::string& name, const std::string& device) {
        return rungs(name == "cuda_tile" ? "cuda_shared_dynamic" : "cuda_shared_static", device);
    };
}
} // namespace

TEST_CASE("the README's ladder is the variant table") {
    CHECK(gpulab::testing::variants_in_ladder(MATMUL_README) == names_of(matmul::variants<float>()));
    CHECK(names_of(matmul::variants<float>()) == names_of(matmul::variants<double>()));
}

TEST_CASE("the README names every study") {
    CHECK(gpulab::testing::absent_from(MATMUL_README, gpulab::testing::names_of_studies(matmul::study_list())) ==
          Words{});
}

TEST_CASE("the program lists every variant (--list), study (--study list) and option (--help) and exits 0") {
    CHECK(program.missing("--list", names_of(matmul::variants<float>())) == Words{});
    CHECK(program.missing("--study list", gpulab::testing::names_of_studies(matmul::study_list())) == Words{});
    CHECK(program.missing("--help", {"--m", "--k", "--n", "--type", "--variant", "--study", "--json", "--csv"}) ==
          Words{});
}

TEST_CASE("bad input gives one line on stderr, exit code 2 and no file") {
    for (const std::string arguments : {"--m 0",
                                        "--n -1",
                                        "--k 2^31",
                                        "--k 1.5",
                                        "--m ''",
                                        "--type half",
                                        "--variant cuda_magic",
                                        "--variant cpu_ijk --m many",
                                        "--study speed",
                                        "--study ladder --m 64",
                                        "--study shape --n 64",
                                        "--study growth --n 15",
                                        "--study tile --m 64",
                                        "--study tile --variant cpu_ijk",
                                        "--study tile --k 64",
                                        "--study registers --type double",
                                        "--study registers --variant cuda_register_2d",
                                        "--csv /nonexistent/folder/x.csv",
                                        "--m 2000000 --k 2000000 --n 2000000",
                                        "stray"}) {
        INFO(arguments);
        CHECK(program.refusal_fault(arguments) == "");
    }
}

TEST_CASE("a full run passes every variant that can run, skips the others with reasons, and writes both files") {
    for (const std::string type : {"float", "double"}) {
        INFO(type);
        const gpulab::testing::ScratchFile csv;
        const auto run = program.results("--m 65 --k 33 --n 47 --repeat 2 --type " + type + " --csv " + csv.path());
        CHECK(run["lab"] == "matmul");
        CHECK(run["problem"]["m"] == 65);
        CHECK(run["problem"]["k"] == 33);
        CHECK(run["problem"]["n"] == 47);
        CHECK(run["problem"]["type"] == type);
        CHECK(run["variants"].size() == gpulab::testing::rows_of(matmul::variants<float>()));
        const auto known_wrong = type == "float" ? wrong_rungs<float>(65, 33, 47) : wrong_rungs<double>(65, 33, 47);
        CHECK(gpulab::testing::run_fault(run, "cpu_ijk", known_wrong) == "");
        CHECK(csv.text().find("opencl_register_tile") != std::string::npos);
    }
}

TEST_CASE("a missing back end is an error only when it was requested by name") {
    const int with_cuda = program("--m 16 --k 16 --n 16 --backend cuda --repeat 1").exit_code;
    CHECK((gpulab::devices(Backend::cuda).empty() ? with_cuda == 2 : with_cuda <= 1));
    CHECK(program("--m 16 --k 16 --n 16 --repeat 1").exit_code <= 1); // 1: a variant is wrong, which its own test says
}

TEST_CASE("speed-ups refer to the time of cpu_ijk: its own is 1") {
    const auto run = program.results("--m 64 --k 64 --n 64 --backend cpu --repeat 3");
    CHECK(run["variants"][0]["name"] == "cpu_ijk");
    CHECK(run["variants"][0]["speedup"] == 1.0);
    CHECK(matmul::sequential(matmul::make_problem<float>(2, 3, 4, 42)).variant == "cpu_ijk"); // in the studies
}

TEST_CASE("the largest product of a study is the one for which there must be memory") {
    CHECK(matmul::most_elements("ladder", 1) == 3 * 4096.0 * 4096);
    CHECK(matmul::most_elements("tile", 100) == 3 * 100.0 * 100);
    CHECK(matmul::most_elements("registers", 100) == 3 * 100.0 * 100);
    CHECK(matmul::most_elements("shape", 1) == 16384.0 * 16384 + 2 * 16384.0 * 32);
}

TEST_CASE("the study of growth has the time per operation at each size") {
    const auto operations = [](const nlohmann::json& problem, const auto&) {
        return 2 * std::pow(problem["n"].get<double>(), 3);
    };
    CHECK(program.growth_fault("--n 100", "ns_per_operation", 3, operations, wrong_rungs<float>(64, 64, 64)) == "");
    CHECK(program.growth_fault("--n 16 --type double", "ns_per_operation", 1, operations,
                               wrong_rungs<double>(16, 16, 16)) == "");
}

TEST_CASE("the study of shapes has a square, a tall, a flat, a deep and a thin product, and one of odd sides") {
    const auto runs = program.results("--study shape --backend cpu"); // too large for a CPU: all are skipped
    nlohmann::json shapes;
    for (const auto& run : runs) shapes.push_back({run["problem"]["m"], run["problem"]["k"], run["problem"]["n"]});
    CHECK(shapes == nlohmann::json::parse("[[2048, 2048, 2048], [65536, 1024, 128], [128, 1024, 65536], "
                                          "[256, 131072, 256], [16384, 32, 16384], [2047, 2049, 2053]]"));
}

TEST_CASE("what does not fit main memory is refused: A, B and C twice, in bytes") {
    const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(gpulab::host_memory_bytes()) / 20));
    const auto refused = program(fmt::format("--backend cpu --m {0} --k {0} --n {0}", n));
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find("of main memory") != std::string::npos);
}

TEST_CASE("the study of tiles runs with CUDA, and refuses to run without; it takes no --variant") {
    CHECK(program("--study tile --variant cpu_ijk").err.find("--variant does not apply") != std::string::npos);
    if (gpulab::devices(Backend::cuda).empty()) CHECK(program.refusal_fault("--study tile --n 64") == "");
    else CHECK(program.study_fault("tile", "--n 64", 10, wrong_tiles(64)) == "");
}

TEST_CASE("in the study of registers as many blocks fit as were wanted, with as many registers as there are") {
    if (gpulab::devices(Backend::cuda).empty()) {
        CHECK(program.refusal_fault("--study registers --n 64") == "");
        return;
    }
    // The kernel is that of cuda_register_2d.
    const auto rungs = wrong_rungs<float>(130, 130, 130);
    const auto wrong = [&](const std::string&, const std::string& device) { return rungs("cuda_register_2d", device); };
    CHECK(program.study_fault("registers", "--n 130", 4, wrong) == "");
    for (const auto& run : program.results("--study registers --n 130 --repeat 1")) {
        const int wanted = run["problem"]["blocks wanted"];
        for (const auto& v : run["variants"]) {
            INFO(v.dump());
            CHECK(v["blocks_per_sm"] >= wanted);
            CHECK(256 * wanted * v["registers"].get<int>() <= 65536);
            CHECK(v["occupancy_percent"] > 0);
        }
    }
}
