// The program as a user meets it: its options, its files, its exit codes; and the hand-out against the variant table.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "gpulab/device.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab_testing/hand_out.hpp"
#include "spmv.hpp"
#include "studies.hpp"

namespace fs = std::filesystem;
using gpulab::Backend;
using gpulab::testing::Outcome;

namespace {

Outcome spmv_program(const std::string& arguments) { return gpulab::testing::run_program(SPMV_PROGRAM, arguments); }

std::string fresh_path() {
    return (fs::temp_directory_path() / ("gpulab_spmv_" + std::to_string(std::random_device{}()))).string();
}

} // namespace

TEST_CASE("the README's ladder is the variant table") {
    CHECK(gpulab::testing::variants_in_ladder(SPMV_README) == gpulab::testing::names_of(spmv::variants<float>()));
    CHECK(gpulab::testing::names_of(spmv::variants<double>()) == gpulab::testing::names_of(spmv::variants<float>()));
}

TEST_CASE("the program lists every variant (--list), study (--study list) and option (--help) and exits 0") {
    const Outcome list = spmv_program("--list");
    CHECK(list.exit_code == 0);
    for (const auto& name : gpulab::testing::names_of(spmv::variants<float>()))
        CHECK(list.out.find(name) != std::string::npos);
    const Outcome studies = spmv_program("--study list");
    CHECK(studies.exit_code == 0);
    for (const auto& study : spmv::study_list()) CHECK(studies.out.find(study.name) != std::string::npos);
    const Outcome help = spmv_program("--help");
    CHECK(help.exit_code == 0);
    for (const char* option : {"--matrix", "--generate", "--write", "--type", "--rows", "--study", "--json"})
        CHECK(help.out.find(option) != std::string::npos);
}

TEST_CASE("bad input is one line on stderr, exit code 2 and no file") {
    const std::string json = fresh_path(), broken = fresh_path();
    std::ofstream(broken) << "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n";
    for (const std::string& arguments : {std::string("--generate nothing"),
                                         std::string("--generate laplace2d:0"),
                                         std::string("--generate random:5:9"),
                                         std::string("--generate laplace2d:1e6"),
                                         std::string("--matrix /nonexistent.mtx"),
                                         std::string("--matrix /"),
                                         "--matrix " + broken,
                                         std::string("--type half"),
                                         std::string("--rows 1 --study formats"),
                                         std::string("--study nothing"),
                                         std::string("--matrix /dev/zero"),
                                         std::string("--matrix ''"),
                                         std::string("--generate lecture --write o.mtx --csv ./o.mtx"),
                                         std::string("--generate powerlaw:1000:2:1.001"),
                                         "--generate lecture --matrix " + broken,
                                         std::string("--rows 100"),
                                         std::string("--study formats --generate lecture"),
                                         std::string("--study formats --matrix x.mtx"),
                                         std::string("--study row-length --write x.mtx"),
                                         std::string("--generate random:2e9:1000"),
                                         std::string("--generate banded:2e9:2e9"),
                                         std::string("--variant cuda_nothing"),
                                         std::string("--backend vulkan"),
                                         std::string("--generate lecture --write /nonexistent/folder/x.mtx"),
                                         std::string("stray")}) {
        INFO(arguments);
        const Outcome outcome = spmv_program(arguments + " --json " + json);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.error_lines() == 1);
        CHECK(outcome.err.starts_with("spmv: "));
        CHECK_FALSE(fs::exists(json));
        CHECK_FALSE(fs::exists(json + ".part"));
    }
    CHECK(spmv_program("--matrix " + broken).err == "spmv: " + broken + ":3: column 3 is not in 1 ... 2\n");
    fs::remove(broken);
}

TEST_CASE("memory is counted before it is taken: entries, rows, columns and vectors") {
    const auto grows = [](gpulab::MatrixSize more, double device, double host) {
        const auto base = spmv::memory_need<double>({1000, 1000, 1000});
        const auto need = spmv::memory_need<double>({1000 + more.rows, 1000 + more.columns, 1000 + more.nonzeros});
        return need.device - base.device >= device && need.host - base.host >= host;
    };
    CHECK(grows({0, 0, 1000}, 16e3, 24e3)); // an entry of COO; one of CSR and its copy in another format
    CHECK(grows({1000, 0, 0}, 12e3, 32e3)); // an offset and an element of y; y, the reference and its scale
    CHECK(grows({0, 1000, 0}, 8e3, 8e3));   // an element of x
    const Outcome outcome = spmv_program("--generate random:2e9:1000");
    CHECK(outcome.err.find("this problem needs") != std::string::npos);
    // The header of a small file may announce much; believing it would refuse, or take, too much.
    const std::string mtx = fresh_path();
    std::ofstream(mtx) << "%%MatrixMarket matrix coordinate real general\n2 2 2000000000\n1 1 1\n";
    CHECK(spmv_program("--matrix " + mtx).err == "spmv: " + mtx + ":3: the file ends after 1 of 2000000000 entries\n");
    fs::remove(mtx);
}

TEST_CASE("the lecture's matrix is printed with its row pointers 0 2 4 5") {
    const Outcome outcome = spmv_program("--generate lecture --variant cpu_sequential --repeat 1");
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out.find("row pointers    0 2 4 5\n") != std::string::npos);
    CHECK(outcome.out.find("column indices  1 2 1 3 0\n") != std::string::npos);
}

TEST_CASE("a matrix is written, read back and multiplied, and JSON says what it was") {
    const std::string json = fresh_path(), mtx = fresh_path();
    for (const std::string type : {"float", "double"}) {
        INFO(type);
        REQUIRE(
            spmv_program("--generate random:300x200:3-9 --backend cpu --repeat 1 --write " + mtx + " --type " + type)
                .exit_code == 0);
        const Outcome outcome = spmv_program("--matrix " + mtx + " --repeat 2 --json " + json + " --type " + type);
        REQUIRE(outcome.exit_code == 0);
        nlohmann::json run;
        std::ifstream(json) >> run;
        CHECK(outcome.out.find("read " + mtx + ": ") != std::string::npos); // and how fast
        CHECK(run["lab"] == "spmv");
        CHECK(run["problem"]["matrix"] == mtx);
        CHECK(run["problem"]["type"] == type);
        CHECK(run["problem"]["rows"] == 300);
        CHECK(run["problem"]["columns"] == 200);
        CHECK(run["problem"]["nonzeros"] == gpulab::generate_matrix<double>("random:300x200:3-9", 42).nonzeros());
        std::size_t expected = 0;
        for (const auto& v : spmv::variants<float>())
            expected += std::max<std::size_t>(1, gpulab::devices(v.backend).size());
        CHECK(run["variants"].size() == expected);
        for (const auto& v : run["variants"]) {
            const std::string backend = v["backend"], status = v["status"];
            INFO(v["name"]);
            CHECK(status != "failed");
            if (backend == "cpu") CHECK(status == "passed");
            if (status == "passed") CHECK(v["format_bytes"] > 0);
            if (status == "skipped") CHECK_FALSE(v["reason"].get<std::string>().empty());
        }
    }
    fs::remove(json);
    fs::remove(mtx);
}

TEST_CASE("every study runs and writes a list of runs") {
    for (const auto& study : spmv::study_list()) {
        INFO(study.name);
        const std::string json = fresh_path();
        CHECK(spmv_program("--study " + study.name + " --rows 100 --repeat 1 --warmup 0 --json " + json).exit_code ==
              0);
        nlohmann::json runs;
        std::ifstream(json) >> runs;
        CHECK(runs.is_array());
        CHECK(runs.size() >= 5);
        for (const auto& run : runs)
            for (const auto& v : run["variants"]) CHECK(v["status"] != "failed");
        fs::remove(json);
    }
}
