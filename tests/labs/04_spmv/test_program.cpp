// The program as a user meets it: its options, its files, its exit codes; and the hand-out against the variant table.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "checks.hpp"
#include "gpulab/device.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab_testing/hand_out.hpp"
#include "gpulab_testing/program.hpp"
#include "spmv.hpp"
#include "studies.hpp"

using gpulab::testing::names_of;
using gpulab::testing::Outcome;
using gpulab::testing::ScratchFile;
using gpulab::testing::ScratchFolder;
using Words = std::set<std::string>;

namespace {
const gpulab::testing::Program program("spmv", SPMV_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
template <class T> gpulab::testing::KnownWrong wrong_rungs() {
    return gpulab::testing::known_wrong(spmv::variants<T>(), [](spmv::Run<T>* run) {
        auto cases = spmv::testing::small_cases<T>();
        for (const char* const like : {"random:300x200:3-9", "random:1000:10", "powerlaw:100:16", "random:1600x100:1"})
            cases.push_back({like, gpulab::generate_matrix<T>(like, 42)});
        return spmv::testing::first_fault<T>(run, cases);
    });
}

/// Whether the program ended well, or with 1: a variant is wrong, which its own test says.
bool ran(const Outcome& outcome) { return outcome.exit_code == 0 || outcome.exit_code == 1; }
} // namespace

TEST_CASE("the README's ladder is the variant table") {
    CHECK(gpulab::testing::variants_in_ladder(SPMV_README) == names_of(spmv::variants<float>()));
    CHECK(names_of(spmv::variants<double>()) == names_of(spmv::variants<float>()));
}

TEST_CASE("the README names every study") {
    CHECK(gpulab::testing::absent_from(SPMV_README, gpulab::testing::names_of_studies(spmv::study_list())) == Words{});
}

TEST_CASE("the program lists every variant (--list), study (--study list) and option (--help) and exits 0") {
    CHECK(program.missing("--list", names_of(spmv::variants<float>())) == Words{});
    CHECK(program.missing("--study list", gpulab::testing::names_of_studies(spmv::study_list())) == Words{});
    CHECK(program.missing("--help", {"--matrix", "--generate", "--write", "--type", "--rows", "--study", "--json"}) ==
          Words{});
}

TEST_CASE("bad input is one line on stderr, exit code 2 and no file") {
    const ScratchFile file;
    file.write("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n");
    const std::string& broken = file.path();
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
        CHECK(program.refusal_fault(arguments) == "");
    }
    CHECK(program("--matrix " + broken).err == "spmv: " + broken + ":3: column 3 is not in 1 ... 2\n");
}

TEST_CASE("memory is counted before it is taken: entries, rows, columns and vectors") {
    const auto grows = [](gpulab::MatrixSize more, double device, double host) {
        const auto base = spmv::memory_need<double>({1000, 1000, 1000});
        const auto need = spmv::memory_need<double>({1000 + more.rows, 1000 + more.columns, 1000 + more.nonzeros});
        return need.device - base.device >= device && need.host - base.host >= host;
    };
    CHECK(grows({0, 0, 1000}, 16e3, 24e3)); // an entry of COO; one of CSR and its copy in another format
    CHECK(grows({1000, 0, 0}, 12e3, 32e3)); // an offset and an element of y; y, the reference and its scale
    CHECK(grows({0, 1000, 0}, 8e3, 24e3));  // an element of x; two offsets of CSC
    const Outcome outcome = program("--generate random:2e9:1000");
    CHECK(outcome.err.find("this problem needs") != std::string::npos);
    // The header of a small file may announce much; believing it would refuse, or take, too much.
    const ScratchFile mtx;
    mtx.write("%%MatrixMarket matrix coordinate real general\n2 2 2000000000\n1 1 1\n");
    CHECK(program("--matrix " + mtx.path()).err ==
          "spmv: " + mtx.path() + ":3: the file ends after 1 of 2000000000 entries\n");
}

TEST_CASE("row sums beyond the type are bad input, not a wrong result") {
    const ScratchFile mtx;
    mtx.write("%%MatrixMarket matrix coordinate real general\n1 20 20\n" + [] {
        std::string entries;
        for (int j = 1; j <= 20; ++j) entries += "1 " + std::to_string(j) + " 3e38\n";
        return entries;
    }());
    CHECK(program.refusal_fault("--backend cpu --matrix " + mtx.path()) == "");
    CHECK(
        program("--backend cpu --matrix " + mtx.path()).err.starts_with("spmv: " + mtx.path() + ": the sum of row 1"));
    CHECK(ran(program("--backend cpu --repeat 1 --type double --matrix " + mtx.path())));
}

TEST_CASE("a row that sums to infinity, or to NaN, is right") {
    const ScratchFile mtx;
    const std::string head = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 ";
    mtx.write(head + "inf\n");
    CHECK(program("--backend cpu --repeat 1 --matrix " + mtx.path()).exit_code == 0);
    mtx.write(head + "nan\n");
    CHECK(program("--repeat 1 --matrix " + mtx.path()).exit_code == 0);
}

TEST_CASE("x comes from a file and y goes to one, or to stdout, and a line says which variant computed it") {
    const ScratchFile a, x, y;
    a.write("%%MatrixMarket matrix coordinate real general\n2 3 4\n1 1 2\n1 3 -1\n2 2 0.1\n2 3 nan\n");
    const auto run = [&](const std::string& numbers, const std::string& more) {
        x.write("%%MatrixMarket matrix array real general\n" + numbers);
        return program("--type double --repeat 1 --variant cpu_sequential,cpu_threads --matrix " + a.path() + " --x " +
                       x.path() + more);
    };
    const std::string expected = "%%MatrixMarket matrix array real general\n2 1\n0.5\nnan\n";
    const Outcome to_file = run("3 1\n1\n2\n1.5\n", " --y " + y.path());
    CHECK(to_file.exit_code == 0);
    CHECK(to_file.out.ends_with(y.path() + ": y, as cpu_sequential computed it\n"));
    CHECK(y.text() == expected);
    CHECK(run("3 1\n1\n2\n1.5\n", " --y -").out == expected);
    for (const std::string size :
         {"2 1\n1\n2\n", "4 1\n1\n2\n3\n4\n", "3 2\n1\n2\n3\n4\n5\n6\n", "2147483646 1\n1\n"}) {
        const Outcome refused = run(size, " --y " + y.path());
        CHECK(refused.exit_code == 2);
        CHECK(refused.err.ends_with(size.starts_with("3 2") ? "3 x 2 numbers are no vector\n" : "numbers, not 3\n"));
    }
}

TEST_CASE("the lecture's matrix is printed with its row pointers 0 2 4 5, and its product with ones is 3 7 5") {
    const Outcome outcome = program("--generate lecture --variant cpu_sequential --repeat 1");
    CHECK(ran(outcome));
    CHECK(outcome.out.starts_with("spmv: matrix = lecture, type = float, rows = 3, columns = 4, nonzeros = 5\n"
                                  "3 x 4, 5 non-zeros (41.67 % filled)\n"
                                  "row length: 1 to 2, mean 1.667, standard deviation 0.4714, 0 empty rows\n"
                                  "                   1           1 rows\n"
                                  "               2 - 3           2 rows\n"
                                  "dense                48 bytes         100 % of dense\n"
                                  "CSR                  56 bytes       116.7 % of dense\n"));
    CHECK(outcome.out.find("\n\n       0       1       2       0\n"
                           "       0       3       0       4\n"
                           "       5       0       0       0\n"
                           "row pointers    0 2 4 5\n"
                           "column indices  1 2 1 3 0\n"
                           "non-zeros       1 2 3 4 5\n"
                           "x               1 1 1 1\n\n") != std::string::npos);
    CHECK(outcome.out.ends_with("y = 3 7 5  (cpu_sequential)\n"));
    const ScratchFile x;
    x.write("%%MatrixMarket matrix array real general\n4 1\n0\n1\n10\n100\n"); // --x comes before the lecture's
    CHECK(program("--generate lecture --variant cpu_sequential --repeat 1 --x " + x.path())
              .out.ends_with("y = 21 403 0  (cpu_sequential)\n"));
    // A matrix of eleven columns is too wide to be printed, and so is its product.
    const std::string wide = program("--generate laplace2d:11x1 --variant cpu_sequential --repeat 1").out;
    CHECK(wide.find("y = ") == std::string::npos);
    CHECK(wide.find("dense               484 bytes         100 % of dense\n"
                    "CSR                 296 bytes       61.16 % of dense\n"
                    "COO                 372 bytes       76.86 % of dense\n"
                    "CSC                 296 bytes       61.16 % of dense\n"
                    "ELL                 264 bytes       54.55 % of dense\n"
                    "DIA                 144 bytes       29.75 % of dense\n"
                    "HYB                 264 bytes       54.55 % of dense\n"
                    "JDS                 324 bytes       66.94 % of dense\n"
                    "BCSR                376 bytes       77.69 % of dense\n"
                    "bins                292 bytes       60.33 % of dense\n\n") != std::string::npos);
}

TEST_CASE("a matrix is written compressed, and read compressed, through links and pipes") {
    const ScratchFolder folder;
    const std::string packed = folder.path("a.mtx.gz"), plain = folder.path("a.mtx"), again = folder.path("b.mtx");
    REQUIRE(program("--generate laplace2d:30x20 --variant cpu_sequential --repeat 1 --write " + packed).exit_code == 0);
    REQUIRE(program("--generate laplace2d:30x20 --variant cpu_sequential --repeat 1 --write " + plain).exit_code == 0);
    CHECK(std::filesystem::file_size(packed) < std::filesystem::file_size(plain) / 3);
    std::filesystem::create_symlink("a.mtx.gz", folder.path("link"));
    const std::string options = "--variant cpu_sequential --repeat 1 --write " + again + " --matrix ";
    for (const auto& [sent, name] :
         {std::pair{std::string(), packed}, {"", folder.path("link")}, {plain, "/dev/stdin"}, {packed, "/dev/stdin"}}) {
        const Outcome run = sent.empty() ? program(options + name) : program.fed(sent, options + name);
        CHECK(run.err == "");
        CHECK(run.exit_code == 0);
        CHECK(gpulab::read_matrix_market<float>(again) == gpulab::generate_matrix<float>("laplace2d:30x20", 42));
        std::filesystem::remove(again);
    }
    CHECK(program.refusal_fault("--matrix " + packed + " --write " + folder.path("link")) == "");
}

TEST_CASE("a matrix is written, read back and multiplied, and the JSON file describes it") {
    const ScratchFile json, mtx;
    for (const std::string type : {"float", "double"}) {
        INFO(type);
        REQUIRE(ran(program("--generate random:300x200:3-9 --backend cpu --repeat 1 --write " + mtx.path() +
                            " --type " + type)));
        const Outcome outcome =
            program("--matrix " + mtx.path() + " --repeat 2 --json " + json.path() + " --type " + type);
        REQUIRE(ran(outcome));
        CHECK(outcome.out.find("read " + mtx.path() + ": ") != std::string::npos); // and how fast
        const auto run = json.json();
        CHECK(run["lab"] == "spmv");
        CHECK(run["problem"]["matrix"] == mtx.path());
        CHECK(run["problem"]["type"] == type);
        CHECK(run["problem"]["rows"] == 300);
        CHECK(run["problem"]["columns"] == 200);
        const auto matrix = gpulab::generate_matrix<double>("random:300x200:3-9", 42);
        CHECK(run["problem"]["nonzeros"] == matrix.nonzeros());
        const spmv::FormatBytes f = type == "double"
                                        ? spmv::format_bytes(matrix)
                                        : spmv::format_bytes(gpulab::generate_matrix<float>("random:300x200:3-9", 42));
        const std::map<std::string, double> bytes = {{"csr", f.csr}, {"coo", f.coo},   {"csc", f.csc},
                                                     {"ell", f.ell}, {"dia", f.dia},   {"hyb", f.hyb},
                                                     {"jds", f.jds}, {"bcsr", f.bcsr}, {"bins", f.bins}};
        CHECK(run["variants"].size() == gpulab::testing::rows_of(spmv::variants<float>()));
        CHECK(gpulab::testing::run_fault(run, "cpu_sequential",
                                         type == "float" ? wrong_rungs<float>() : wrong_rungs<double>()) == "");
        for (const auto& v : run["variants"])
            if (v["status"] == "passed") CHECK(v["format_bytes"] == bytes.at(v["format"]));
    }
}

TEST_CASE("the study of growth has the time per non-zero at each size") {
    const auto nonzeros = [](const nlohmann::json& problem, const auto&) {
        const auto side = std::sqrt(problem["rows"].get<double>());
        return 5 * side * side - 4 * side; // a point has no neighbour outside the grid
    };
    CHECK(program.growth_fault("--rows 300", "ns_per_nonzero", 4, nonzeros, wrong_rungs<float>()) == "");
    CHECK(program.growth_fault("--rows 4 --type double", "ns_per_nonzero", 1, nonzeros, wrong_rungs<double>()) == "");
}

TEST_CASE("every study runs and writes a list of runs") {
    for (const auto& study : spmv::study_list()) {
        if (study.name == "growth") continue; // see above
        INFO(study.name);
        const auto fault = [](const nlohmann::json& run) -> std::string {
            const auto& p = run["problem"];
            if (!p.contains("row length")) return gpulab::testing::reference_fault(run, "cpu_sequential");
            const int length = p["row length"]; // 16 entries for each of the 100 rows, in whole rows of this length
            return p["nonzeros"] == std::max(1600 / length, 1) * length ? "" : "another number of non-zeros";
        };
        CHECK(program.study_fault(study.name, "--rows 100", 5, wrong_rungs<float>(), fault) == "");
    }
}

TEST_CASE("the study of kinds has twenty matrices, at least one from each generator") {
    const ScratchFile json;
    REQUIRE(ran(program("--study kinds --rows 100 --backend cpu --repeat 1 --json " + json.path())));
    std::set<std::string> matrices, kinds;
    for (const auto& run : json.json()) {
        const std::string matrix = run["problem"]["matrix"];
        matrices.insert(matrix);
        kinds.insert(matrix.substr(0, matrix.find(':')));
    }
    CHECK(matrices.size() == 20);
    std::set<std::string> generators; // "lecture | laplace2d:N or NXxNY | ..."
    std::istringstream help(gpulab::generator_help);
    for (std::string word, before = "|"; help >> word; before = word)
        if (before == "|") generators.insert(word.substr(0, word.find(':')));
    CHECK(generators.size() == 8);
    CHECK(kinds == generators);
}

TEST_CASE("megabytes per second of a file are its bytes and the seconds") {
    CHECK(spmv::rate_text("read", "a.mtx", 1.5e6, 0.0125) == "read a.mtx: 1.5 MB in 0.013 s, 120 MB/s");
}
