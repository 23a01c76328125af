// The program as a user meets it: the contract of all programs, and what is this lab's own.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <numbers>
#include <set>
#include <string>

#include "checks.hpp"
#include "gpulab/device.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/timing.hpp"
#endif
#include "gpulab_testing/contract.hpp"
#include "gpulab_testing/environment.hpp"
#include "histogram.hpp"
#include "optional_sums.hpp"
#include "studies.hpp"
#include "transfers.hpp"

using namespace gpulab::testing;
using namespace reduction::testing;
using gpulab::Backend;
using Json = nlohmann::json;

#if defined(GPULAB_WITH_OPENCL)
extern const char* const series_cl; // what the build makes of series.cl
#endif

namespace {

const Program program("reduction", REDUCTION_PROGRAM);

std::set<std::string> all_variants() {
    return names_of(reduction::sum_variants<float>(), reduction::optional_sum_variants<float>(),
                    reduction::dot_variants<float>(), reduction::series_variants<float>(),
                    reduction::scan_variants<float>(), reduction::histogram_variants<float>());
}

/// Excuses the rungs that are wrong by their own test. @param n the size that the program runs
template <class T> KnownWrong wrong_rungs(std::size_t n) {
    const auto sizes = [n](const auto& v) {
        return Sizes{100, v.name.ends_with("one_block") ? std::min<std::size_t>(n, 1024) : n};
    };
    std::vector<KnownWrong> tables = {known_wrong(
        reduction::scan_variants<T>(), [=](const auto& v) { return first_scan_fault<T>(v.run, v.backend, sizes(v)); })};
    if constexpr (std::is_floating_point_v<T>) {
        tables.push_back(known_wrong(reduction::histogram_variants<T>(), [=](const auto& v) -> std::string {
            const auto p = reduction::make_histogram_problem<T>(n, 256, seed);
            reduction::Counts counts(256);
            return fault_of(v.run, p, counts,
                            [&] { return gpulab::compare(reduction::expected_histogram(p), counts, 0); });
        }));
        tables.push_back(known_wrong(reduction::sum_variants<T>(),
                                     [=](const auto& v) { return first_fault<T>(v.run, v.backend, sizes(v)); }));
        tables.push_back(known_wrong(reduction::dot_variants<T>(),
                                     [=](const auto& v) { return first_dot_fault<T>(v.run, v.backend, sizes(v)); }));
        tables.push_back(known_wrong(reduction::series_variants<T>(),
                                     [=](const auto& v) { return first_series_fault<T>(v.run, v.backend, sizes(v)); }));
    }
    return any_of(tables);
}

const ProgramCases contract([] {
    return gpulab::testing::LabProgram{
        .program = program,
        .readme = REDUCTION_README,
        .variants = all_variants(),
        .studies = reduction::study_list(),
        .options = "--n --op --type --x --bins",
        .smallest = "--n 1000",
        .refusals = R"(
            --op product | --type half | --type int | --op dot --type int
            --n -1 | --n 1.5 | --n 2^70 | --n ''
            --op log --x -1 | --op log --x 2 | --op sum --x 0.5 | --op pi --x 0.5 | --study transfers --x 0.5
            --bins 10 | --op histogram --bins 0 | --op histogram --bins 513 | --op histogram --n 2^32
            --op histogram --type int
            --op dot --variant cpu_sequential | --study transfers --variant opencl_dot
            --study ladder --type int | --study ladder --op dot | --study transfers --op inclusive-scan
            --study growth --n 15 | --study table-1-1 --n 1000
            --study table-1-1 --backend opencl | --study table-1-1 --variant cpu_series
            --study lost-update --n 0 | --study lost-update --n 2^25
            --study lost-update --type double | --study lost-update --variant cpu_sequential)",
        // Of the sum, whose rungs may need what OpenCL 3.0 leaves to the device, see below.
        .operations = {{"--op dot --n 100003 --repeat 2",
                        {{"n", 100003}},
                        backends_of(reduction::dot_variants<float>()),
                        "cpu_dot",
                        wrong_rungs<float>(100003)}},
        .memory = {{"--n 3e8", 4 * 3e8, 4 * 3e8},
                   {"--op dot --n 1e8 --type double", 16e8, 16e8},
                   {"--op inclusive-scan --n 1e8", 8e8, 12e8}, // on the host the reference besides
                   {"--op histogram --n 3e8", 4 * 3e8, 4 * 3e8},
                   {"--study ladder --n 3e8", 4 * 3e8, 4 * 3e8}},
        .study = [](const std::string& name) -> std::optional<StudyCase> {
            if (name == "table-1-1" || name == "lost-update") return std::nullopt;
            return StudyCase{name == "transfers" ? "" : "--n 10000", 1, wrong_rungs<float>(10000)};
        },
        .per_element = "ns_per_element",
        .elements = [](const Json& problem, const Json&) { return problem["n"].get<double>(); },
        .growth = {{"--n 5000", 5, wrong_rungs<float>(4096)}, // from 16 on
                   {"--n 64 --type double", 2, wrong_rungs<double>(64)}}};
});
} // namespace

TEST_CASE("every sum that can run passes, and the others are skipped with reasons", "[program]") {
    auto run = program.results("--n 100003 --repeat 2");
    Json& rows = run["variants"];
    CHECK(rows.size() == rows_of(backends_of(reduction::sum_variants<float>())) +
                             rows_of(backends_of(reduction::optional_sum_variants<float>())));
    Json others = Json::array();
    for (const auto& v : rows)
        if (v["status"] != "skipped" || !v["reason"].get<std::string>().starts_with("needs OpenCL C 3.0 with "))
            others.push_back(v);
    CHECK(rows.size() - others.size() <= 2 * gpulab::devices(Backend::opencl).size());
    rows = others;
    CHECK(run_fault(run, "cpu_sequential", wrong_rungs<float>(100003)) == "");
}

TEST_CASE("a name names one variant, and the tables for float and double have the same rows", "[program]") {
    std::size_t rows = 0;
    const auto same = [&](const auto& a, const auto& b) {
        rows += a.size();
        CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end(),
                         [](const auto& x, const auto& y) { return x.name == y.name && x.backend == y.backend; }));
    };
    same(reduction::sum_variants<float>(), reduction::sum_variants<double>());
    same(reduction::optional_sum_variants<float>(), reduction::optional_sum_variants<double>());
    same(reduction::dot_variants<float>(), reduction::dot_variants<double>());
    same(reduction::series_variants<float>(), reduction::series_variants<double>());
    same(reduction::scan_variants<float>(), reduction::scan_variants<double>());
    same(reduction::histogram_variants<float>(), reduction::histogram_variants<double>());
    CHECK(all_variants().size() == rows);
    same(reduction::scan_variants<float>(), reduction::scan_variants<int>());
}

TEST_CASE("every operation runs from the command line, also for n = 0", "[program]") {
    for (const std::string arguments :
         {"--n 1000", "--n 0 --type double", "--op dot --n 0", "--op dot --n 1000 --type double",
          "--op inclusive-scan --n 1000 --type int", "--op exclusive-scan --n 0", "--op histogram --n 1000 --bins 3",
          "--op histogram --n 0 --type double", "--op pi --n 1000", "--op log --x -0.5 --n 1000 --type double"}) {
        INFO(arguments);
        const auto run = program.results(arguments + " --backend cpu --repeat 1");
        for (const char* const key : {"op", "type", "n", "seed"}) CHECK(run["problem"].contains(key));
        CHECK_FALSE(run["variants"].empty());
        const std::size_t n = run["problem"]["n"];
        const std::string type = run["problem"]["type"];
        const auto wrong = type == "double" ? wrong_rungs<double>(n)
                           : type == "int"  ? wrong_rungs<int>(n)
                                            : wrong_rungs<float>(n);
        // The elements that are read and written, and the operations. Series move nothing; those of log are not
        // counted.
        const std::string op = run["problem"]["op"];
        const std::size_t elements = op == "sum" || op == "histogram" ? n : op == "pi" || op == "log" ? 0 : 2 * n;
        const std::size_t operations = op == "log" || op == "histogram" ? 0 : op == "dot" || op == "pi" ? 2 * n : n;
        for (const auto& v : run["variants"]) {
            INFO(v.dump());
            CHECK((v["status"] == "passed" || (v["status"] == "failed" && wrong(v["name"], v["device"]))));
            CHECK(v["bytes"] == (type == "double" ? 8 : 4) * elements);
            CHECK(v["flops"] == operations);
            if (op == "pi" || op == "log")
                CHECK(v["distance_to_limit"] ==
                      std::abs(v["value"].get<double>() - (op == "pi" ? std::numbers::pi : std::log1p(-0.5))));
        }
    }
}

TEST_CASE("the table shows values in as many digits as tell two numbers of a type apart", "[program]") {
    for (const auto& [type, digits] : {std::pair("float", 9), {"double", 17}}) {
        const ScratchFile json;
        const auto run =
            program(fmt::format("--n 1000 --backend cpu --repeat 1 --type {} --json {}", type, json.path()));
        const auto file = json.json(); // named: a range-for does not keep the parts of a temporary alive
        REQUIRE_FALSE(file["variants"].empty());
        for (const auto& v : file["variants"])
            CHECK(run.out.find(fmt::format(" {:.{}g} ", v["value"].get<double>(), digits)) != std::string::npos);
    }
}

TEST_CASE("the table of transfers has speed-ups and rates of both times", "[program]") {
    CHECK(reduction::text_of({{100, 1, 4, 8}, {1'000'000, 2, 0.5, 1}}) ==
          "                                                     speed-up            GFLOP/s\n"
          "       n sequential ms  kernel ms copies ms   kernel   copies sequential  copies\n"
          "     100        1.0000     4.0000    8.0000     0.25     0.12       0.00    0.00\n"
          " 1000000        2.0000     0.5000    1.0000     4.00     2.00       1.00    2.00\n");
}

TEST_CASE("the study transfers times copies and kernel, and neither allocation nor filling", "[program][thorough]") {
    (void)devices_or_skip(Backend::opencl);
    Outcome outcome;
    std::vector<reduction::TransferRow> rows;
    for (const auto& run : program.results("--study transfers --repeat 1 --device opencl:0", &outcome)) {
        const auto& kernel = run["variants"][0];
        const auto& copies = run["variants"][1];
        CHECK(kernel["name"] == "opencl_dot");
        CHECK(copies["name"] == "opencl_copies_and_dot");
        CHECK(copies["kernel_ms"]["median"] != copies["total_ms"]);
        CHECK(copies["percent_of_ceiling"].is_null()); // the copy within the device is no bound for the link
        rows.push_back(
            {run["problem"]["n"], run["sequential_ms"], kernel["kernel_ms"]["median"], copies["kernel_ms"]["median"]});
    }
    CHECK(rows.size() == 6);
    CHECK(outcome.out.find(reduction::text_of(rows)) != std::string::npos);
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("terms of a series are right where their number has more than 31 bits", "[program]") {
    gpulab::use(devices_or_skip(Backend::opencl).front());
    const std::string text =
        std::string(series_cl) +
        "\n#line 1 \"one.cl\"\n"
        "kernel void one(int pi, float x, ulong i, global float* out) { out[0] = term(pi, x, i); }\n";
    cl::Kernel kernel = gpulab::opencl_kernel(text.c_str(), "one", "-DREAL=float");
    for (const cl_ulong i : {cl_ulong{0}, cl_ulong{7}, cl_ulong{1} << 31, (cl_ulong{1} << 32) + 1, cl_ulong{1} << 33})
        for (const auto series : {reduction::Series::pi, reduction::Series::log}) {
            INFO(i);
            gpulab::ClBuffer<float> out(1);
            gpulab::set_args(kernel, cl_int{series == reduction::Series::pi}, 1.0f, i, out.data());
            gpulab::opencl().queue().enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1), cl::NDRange(1));
            std::vector<float> term(1);
            out.copy_to(term);
            const double size = series == reduction::Series::pi ? 4 / (2.0 * static_cast<double>(i) + 1)
                                                                : 1 / (static_cast<double>(i) + 1);
            CHECK(std::abs(term[0] / (i % 2 == 0 ? size : -size) - 1) < 1e-6);
        }
}
#endif

TEST_CASE("speed-ups refer to the time of the sequential variant: its own is 1", "[program]") {
    const auto check = [](const nlohmann::json& run, const std::string& reference) {
        CHECK(reference_fault(run, reference) == "");
        CHECK(run["variants"][0]["name"] == reference);
        CHECK(run["variants"][0]["speedup"] == 1.0);
    };
    for (const auto& [arguments, reference] : {std::pair<std::string, std::string>("--n 1003", "cpu_sequential"),
                                               {"--op dot --n 1003", "cpu_dot"},
                                               {"--op pi --n 1003", "cpu_series"},
                                               {"--op inclusive-scan --n 1003", "cpu_scan"}}) {
        INFO(arguments);
        check(program.results(arguments + " --backend cpu --repeat 3"), reference);
    }
    check(program.results("--study ladder --n 1003 --backend cpu --repeat 3")[0], "cpu_sequential");
}

TEST_CASE("a study that needs a device says why there is none of a back end that was named", "[program]") {
    if (!gpulab::devices(Backend::cuda).empty()) SKIP("there is a CUDA device");
    CHECK(program.refusal_fault("--study transfers --backend cuda", gpulab::why_no_devices(Backend::cuda)) == "");
}

TEST_CASE("the study of table 1.1 has the book's terms on 1, 2, 4, ... threads up to all, with their efficiency",
          "[program][thorough]") {
    const Environment set("GPULAB_CPU_THREADS", "3");
    const auto runs = program.results("--study table-1-1 --repeat 1 --warmup 0");
    REQUIRE(runs.size() == 9);
    const auto wrong = wrong_rungs<double>(1'000'003);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto& problem = runs[i]["problem"];
        const std::size_t threads = 1 + i % 3;
        CHECK(problem["terms"] == std::array{1'000'000, 10'000'000, 20'000'000}[i / 3]);
        CHECK(problem["threads"] == threads);
        CHECK(reference_fault(runs[i], "cpu_series") == "");
        REQUIRE(runs[i]["variants"].size() == 1);
        const auto& v = runs[i]["variants"][0];
        INFO(v.dump());
        CHECK((v["status"] == "passed" || wrong(v["name"], v["device"])));
        const double speedup = v["speedup"], efficiency = v["efficiency"];
        CHECK(std::abs(efficiency * static_cast<double>(threads) - speedup) <= 1e-12 * speedup);
    }
}

TEST_CASE("what is lost of additions is what is missing from their number", "[program]") {
    CHECK(reduction::lost(1000, 1000) == 0);
    CHECK(reduction::lost(1000, 990) == 10);
}

TEST_CASE("of unprotected additions any number may be lost, of atomic ones none", "[program][thorough]") {
    for (const std::string n : {"1", "257", "1000003"}) {
        INFO(n);
        const auto runs = program.results("--study lost-update --repeat 2 --n " + n);
        const auto& variants = runs[0]["variants"];
        CHECK(runs.size() == 1);
        CHECK(variants.size() ==
              2 * (1 + gpulab::devices(Backend::opencl).size() + gpulab::devices(Backend::cuda).size()));
        for (const auto& v : variants) {
            INFO(v.dump());
            const std::int64_t found = v["found"], lost = v["lost"];
            CHECK(v["status"] == "passed");
            CHECK(found >= 1);
            CHECK(lost >= 0);
            CHECK(found + lost == std::stoll(n));
            if (std::string(v["name"]).ends_with("_atomic")) CHECK(lost == 0);
        }
    }
}
