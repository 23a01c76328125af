// The program as a user meets it: the contract of all programs, and what is this lab's own.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "checks.hpp"
#include "gpulab/device.hpp"
#include "gpulab_testing/contract.hpp"
#include "gpulab_testing/testing.hpp"
#include "matmul.hpp"
#include "needs.hpp"
#include "studies.hpp"

using namespace gpulab::testing;
using namespace matmul::testing;
using gpulab::Backend;
using Json = nlohmann::json;

namespace {
const Program program("matmul", MATMUL_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
template <class T> KnownWrong wrong_rungs(std::size_t m, std::size_t k, std::size_t n) {
    return known_wrong(matmul::variants<T>(), [=](const auto& v) { return first_fault<T>(v.run, {{m, k, n}}); });
}

/// The same for the study of tiles, whose kernels are those of two rungs.
KnownWrong wrong_tiles(std::size_t n) {
    return [n, rungs = wrong_rungs<float>(n, n, n)](const std::string& name, const std::string& device) {
        return rungs(name == "cuda_tile" ? "cuda_shared_dynamic" : "cuda_shared_static", device);
    };
}

/// The smallest product that main memory cannot hold: A, B and C twice, in bytes.
std::string too_large() {
    const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(gpulab::host_memory_bytes()) / 20));
    return fmt::format("--backend cpu --m {0} --k {0} --n {0} : of main memory\n", n);
}

template <class T> Operation operation(const std::string& type) {
    return {"--m 65 --k 33 --n 47 --repeat 2 --type " + type,
            {{"m", 65}, {"k", 33}, {"n", 47}, {"type", type}},
            backends_of(matmul::variants<T>()),
            "cpu_ijk",
            wrong_rungs<T>(65, 33, 47),
            [](const Json&, const Json& v) {
                if (v["flops"] != 2 * 65 * 33 * 47) return "flops";
                if (v["bytes"] != sizeof(T) * (65 * 33 + 33 * 47 + 65 * 47)) return "bytes";
                return v["name"] != "cpu_ijk" || v["speedup"] == 1.0 ? "" : "not 1";
            }};
}

const ProgramCases contract([] {
    return gpulab::testing::LabProgram{
        .program = program,
        .readme = MATMUL_README,
        .variants = names_of(matmul::variants<float>()),
        .left_out = gpulab::testing::left_out("cpu_openblas", "cpu_eigen"),
        .studies = matmul::study_list(),
        .options = "--m --k --n --type",
        .smallest = "--m 16 --k 16 --n 16",
        .refusals = too_large() + R"(
            --m 0 | --n -1 | --k 2^31 | --k 1.5 | --m '' | --type half | --variant cpu_ijk --m many
            --study ladder --m 64 | --study shape --n 64 | --study growth --n 15 | --study tile --m 64
            --study tile --variant cpu_ijk : --variant does not apply
            --study tile --k 64 | --study registers --type double | --study registers --variant cuda_register_2d
            --m 2000000 --k 2000000 --n 2000000)",
        .operations = {operation<float>("float"), operation<double>("double")},
        .memory = {{"--m 10000 --k 12000 --n 5000", 4 * 2.3e8, 8 * 2.3e8}, // on the host the reference besides
                   {"--type double --m 3000 --k 20000 --n 5000", 8 * 1.75e8, 16 * 1.75e8},
                   {"--study shape", 4 * 16384.0 * (16384 + 64), 8 * 16384.0 * (16384 + 64)}},
        .study = [](const std::string& name) -> std::optional<StudyCase> {
            if (name == "tile") return StudyCase{"--n 64", 10, wrong_tiles(64), {}, {Backend::cuda}};
            if (name == "registers") // its kernel is that of cuda_register_2d
                return StudyCase{
                    "--n 130",
                    4,
                    [rungs = wrong_rungs<float>(130, 130, 130)](const std::string&, const std::string& device) {
                        return rungs("cuda_register_2d", device);
                    },
                    {},
                    {Backend::cuda}};
            return std::nullopt; // ladder and odd have one size each, which takes minutes on a CPU
        },
        .per_element = "ns_per_operation",
        .elements = [](const Json& problem, const Json&) { return 2 * std::pow(problem["n"].get<double>(), 3); },
        .growth = {{"--n 100", 3, wrong_rungs<float>(64, 64, 64)},
                   {"--n 16 --type double", 1, wrong_rungs<double>(16, 16, 16)}}};
});
} // namespace

TEST_CASE("the tables for float and double have the same names, and studies refer to cpu_ijk", "[program]") {
    CHECK(names_of(matmul::variants<float>()) == names_of(matmul::variants<double>()));
    CHECK(matmul::sequential(matmul::make_problem<float>(2, 3, 4, 42)).variant == "cpu_ijk");
}

TEST_CASE("the largest product of a study is the one for which there must be memory", "[program]") {
    CHECK(matmul::max_elements("ladder", 1) == 3 * 4096.0 * 4096);
    CHECK(matmul::max_elements("tile", 100) == 3 * 100.0 * 100);
    CHECK(matmul::max_elements("registers", 100) == 3 * 100.0 * 100);
    CHECK(matmul::max_elements("shape", 1) == 16384.0 * 16384 + 2 * 16384.0 * 32);
}

TEST_CASE("percentages of the library: each, their geometric mean and the least, of one precision", "[program]") {
    std::map<std::string, matmul::Percents> so_far;
    std::map<std::string, double> library_ms;
    const auto added = [&](const char* name, double ms) {
        gpulab::Result result;
        result.variant = name;
        result.kernel = {ms, ms, ms, 1};
        matmul::add_percent(result, std::string(name) == "cuda_cublas", library_ms, &so_far);
        std::vector<double> values;
        for (const gpulab::Parameter& p : result.extra) values.push_back(std::get<double>(p.value));
        return values;
    };
    const auto near = [](const std::vector<double>& values, const std::vector<double>& expected) {
        return std::ranges::equal(values, expected, [](double a, double b) { return std::abs(a / b - 1) < 1e-12; });
    };
    CHECK(added("cuda_by_shape", 4).empty()); // before the library
    CHECK(near(added("cuda_cublas", 2), {100, 100, 100}));
    CHECK(near(added("cuda_by_shape", 4), {50, 50, 50}));
    CHECK(added("cuda_tensor_tf32", 1).empty()); // another precision
    library_ms.clear();                          // the next shape
    CHECK(near(added("cuda_cublas", 8), {100, 100, 100}));
    CHECK(near(added("cuda_by_shape", 4), {200, 100, 50})); // the root of 50 times 200
    CHECK(near(added("cuda_by_shape", 32), {25, std::cbrt(50.0 * 200 * 25), 25}));
}

TEST_CASE("the study of shapes has a square, a tall, a flat, a deep and a thin product, and one of odd sides",
          "[program][thorough]") {
    const auto runs = program.results("--study shape --backend cpu"); // too large for a CPU: all are skipped
    nlohmann::json shapes;
    for (const auto& run : runs) shapes.push_back({run["problem"]["m"], run["problem"]["k"], run["problem"]["n"]});
    CHECK(shapes == nlohmann::json::parse("[[2048, 2048, 2048], [65536, 1024, 128], [128, 1024, 65536], "
                                          "[256, 131072, 256], [16384, 32, 16384], [2047, 2049, 2053]]"));
}

TEST_CASE("in the study of registers as many blocks fit as were wanted, with as many registers as there are",
          "[program]") {
    (void)devices_or_skip(Backend::cuda);
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
