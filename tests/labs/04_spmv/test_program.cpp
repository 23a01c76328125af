// The program as a user meets it: the contract of all programs, and what is this lab's own.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "checks.hpp"
#include "describe.hpp"
#include "gpulab/device.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab_testing/contract.hpp"
#include "gpulab_testing/environment.hpp"
#include "spmv.hpp"
#include "studies.hpp"

using namespace gpulab::testing;
using namespace spmv::testing;
using Json = nlohmann::json;

namespace {
const Program program("spmv", SPMV_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
template <class T> KnownWrong wrong_rungs() {
    return known_wrong(spmv::variants<T>(), [](const auto& v) {
        auto cases = small_cases<T>();
        for (const char* const like : {"random:300x200:3-9", "random:1000:10", "powerlaw:100:16", "random:1600x100:1"})
            cases.push_back({like, gpulab::generate_matrix<T>(like, 42)});
        return first_fault<T>(v.run, cases);
    });
}

/// Whether the program ended well, or with 1: a variant is wrong, which its own test says.
bool ran(const Outcome& outcome) { return outcome.exit_code == 0 || outcome.exit_code == 1; }

/// A row whose sum is beyond a float.
std::string long_row() {
    std::string text = "%%MatrixMarket matrix coordinate real general\n1 20 20\n";
    for (int j = 1; j <= 20; ++j) text += fmt::format("1 {} 3e38\n", j);
    return text;
}

std::optional<StudyCase> study_of(const std::string& name) {
    if (name == "kinds") return std::nullopt;
    return StudyCase{"--rows 100", 5, wrong_rungs<float>(), [](const Json& run) -> std::string {
                         const auto& p = run["problem"];
                         if (!p.contains("row length")) return reference_fault(run, "cpu_sequential");
                         const int length = p["row length"]; // 16 entries for each of the 100 rows, in whole rows
                         return p["nonzeros"] == std::max(1600 / length, 1) * length ? "" : "another number of entries";
                     }};
}

const ProgramCases contract([] {
    const std::string head = "%%MatrixMarket matrix coordinate real general\n";
    return gpulab::testing::LabProgram{
        .program = program,
        .readme = SPMV_README,
        .variants = names_of(spmv::variants<float>()),
        .left_out = gpulab::testing::left_out("", "cpu_eigen"),
        .studies = spmv::study_list(),
        .options = "--matrix --generate --write --type --rows --x --y",
        .smallest = "--generate powerlaw:100:4",
        .refusals = R"(
            --generate nothing | --generate laplace2d:0 | --generate random:5:9 | --generate laplace2d:1e6
            --generate powerlaw:1000:2:1.001 | --generate banded:2e9:2e9
            --generate random:2e9:1000 : this problem needs
            --matrix /nonexistent.mtx | --matrix / | --matrix /dev/zero | --matrix '' | --type half
            --matrix broken : spmv: broken:3: column 3 is not in 1 ... 2
            --matrix announced : spmv: announced:3: the file ends after 1 of 2000000000 entries
            --matrix beyond --backend cpu : spmv: beyond: the sum of row 1
            --generate lecture --matrix broken | --generate lecture --write /nonexistent/folder/x.mtx
            --generate lecture --write o.mtx --csv ./o.mtx
            --rows 100 | --rows 1 --study formats | --study formats --generate lecture
            --study formats --matrix x.mtx | --study row-length --write x.mtx)",
        .files = {{"broken", head + "2 2 1\n1 3 1\n"},
                  {"announced", head + "2 2 2000000000\n1 1 1\n"}, // taken at its word it would be too large
                  {"beyond", long_row()}},
        .operations = {}, // see below: they have a matrix from a file
        .piped = {{"--variant cpu_sequential --repeat 1 --matrix /dev/stdin --write out.gz", head + "2 2 1\n1 2 3\n",
                   head + "2 2 1\n1 2 3\n"}},
        // 5e7 entries, 5e6 rows and columns: see memory_need()
        .memory = {{"--generate random:5e6:10", 5e7 * 12 + 5e6 * (12 + 8), 3 * 5e7 * 8 + 5e6 * (48 + 16 + 8 + 12)}},
        .study = study_of,
        .per_element = "ns_per_nonzero",
        .elements =
            [](const Json& problem, const Json&) {
                const double side = std::sqrt(problem["rows"].get<double>());
                return 5 * side * side - 4 * side; // a point has no neighbour outside the grid
            },
        .growth = {{"--rows 300", 4, wrong_rungs<float>()}, {"--rows 4 --type double", 1, wrong_rungs<double>()}}};
});
} // namespace

namespace {
/// On a CPU, whose arrays have no guard bands: behind the end of x stands a NaN.
template <class T> void reads_no_more(const gpulab::Variant<spmv::Run<T>>& v, Faults& faults) {
    faults.check("NaN behind x", [&] {
        spmv::Problem<T> p = whole_numbers(gpulab::generate_matrix<T>("random:33x31:1-9", 42));
        const spmv::Reference<T> reference = spmv::make_reference(p);
        p.x.reserve(p.x.size() + 1);
        p.x.push_back(std::numeric_limits<T>::quiet_NaN());
        p.x.pop_back();
        spmv::Output<T> y(p.matrix.rows);
        return fault_of(v.run, p, y, [&] { return gpulab::compare(reference.y, y, 0.0); });
    });
}
const VariantCases in_float(spmv::variants<float>(), "reads nothing behind x", "", reads_no_more<float>,
                            only_on<gpulab::Backend::cpu>);
} // namespace

TEST_CASE("memory is counted before it is taken: entries, rows, columns and vectors", "[program]") {
    const auto grows = [](gpulab::MatrixSize more, double device, double host) {
        const auto base = spmv::memory_need<double>({1000, 1000, 1000});
        const auto need = spmv::memory_need<double>({1000 + more.rows, 1000 + more.columns, 1000 + more.nonzeros});
        return need.device - base.device >= device && need.host - base.host >= host;
    };
    CHECK(grows({0, 0, 1000}, 16e3, 24e3)); // an entry of COO; one of CSR and its copy in another format
    CHECK(grows({1000, 0, 0}, 12e3, 32e3)); // an offset and an element of y; y, the reference and its scale
    CHECK(grows({0, 1000, 0}, 8e3, 24e3));  // an element of x; two offsets of CSC
}

TEST_CASE("a row that sums to infinity, or to NaN, is right, and so is one beyond a float in double", "[program]") {
    const ScratchFile mtx;
    const std::string head = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 ";
    mtx.write(long_row());
    CHECK(ran(program("--backend cpu --repeat 1 --type double --matrix " + mtx.path())));
    mtx.write(head + "inf\n");
    CHECK(program("--backend cpu --repeat 1 --matrix " + mtx.path()).exit_code == 0);
    mtx.write(head + "nan\n");
    CHECK(program("--repeat 1 --matrix " + mtx.path()).exit_code == 0);
}

TEST_CASE("x comes from a file and y goes to one, or to stdout, and a line says which variant computed it",
          "[program]") {
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

TEST_CASE("y is that of the first variant that is right: one that did not run is passed over", "[program]") {
    const Environment unsolved("GPULAB_UNSOLVED", "cpu_sequential=x");
    const ScratchFile y;
    const Outcome outcome = program("--generate lecture --backend cpu --repeat 1 --y " + y.path());
    CHECK(outcome.out.find("cpu_sequential computed it") == std::string::npos);
    CHECK(y.text() == "%%MatrixMarket matrix array real general\n3 1\n3\n7\n5\n");
}

TEST_CASE("the lecture's matrix is printed with its row pointers 0 2 4 5, and its product with ones is 3 7 5",
          "[program]") {
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

TEST_CASE("a matrix is written, read back and multiplied, and the JSON file describes it", "[program]") {
    const ScratchFolder folder;
    const auto check = [&]<class T>(T, const std::string& type) {
        INFO(type);
        const Program here = program.in(folder);
        REQUIRE(ran(here("--generate random:300x200:3-9 --backend cpu --repeat 1 --write a.mtx --type " + type)));
        const Outcome outcome = here("--matrix a.mtx --repeat 2 --json j --type " + type);
        REQUIRE(ran(outcome));
        CHECK(outcome.out.find("read a.mtx: ") != std::string::npos); // and how fast
        const Json run = folder.json("j");
        const auto matrix = gpulab::generate_matrix<T>("random:300x200:3-9", 42);
        const Json expected = {
            {"matrix", "a.mtx"}, {"type", type}, {"rows", 300}, {"columns", 200}, {"nonzeros", matrix.nonzeros()}};
        for (const auto& [name, value] : expected.items()) CHECK(run["problem"][name] == value);
        const spmv::FormatBytes f = spmv::format_bytes(matrix);
        CHECK(run["variants"].size() == rows_of(backends_of(spmv::variants<T>())));
        CHECK(run_fault(run, "cpu_sequential", wrong_rungs<T>()) == "");
        for (const auto& v : run["variants"])
            if (v["status"] == "passed") {
                CHECK(v["format_bytes"] == f.of(v["format"].get<std::string>()));
                // An entry with its column, an offset and an element of y for each row, an element of x for each
                // column.
                CHECK(v["bytes"] == matrix.nonzeros() * (sizeof(T) + 4) + 300 * (4 + sizeof(T)) + 200 * sizeof(T));
                CHECK(v["flops"] == 2 * matrix.nonzeros());
            }
    };
    check(float{}, "float");
    check(double{}, "double");
    CHECK(names_of(spmv::variants<double>()) == names_of(spmv::variants<float>()));
}

TEST_CASE("the study of kinds has twenty matrices, at least one from each generator", "[program][thorough]") {
    std::set<std::string> matrices, kinds;
    CHECK(program.study_fault("kinds", "--rows 100", 20, wrong_rungs<float>(), [&](const Json& run) {
        const std::string matrix = run["problem"]["matrix"];
        matrices.insert(matrix);
        kinds.insert(matrix.substr(0, matrix.find(':')));
        return reference_fault(run, "cpu_sequential");
    }) == "");
    CHECK(matrices.size() == 20);
    std::set<std::string> generators; // "lecture | laplace2d:N or NXxNY | ..."
    std::istringstream help(gpulab::generator_help);
    for (std::string word, before = "|"; help >> word; before = word)
        if (before == "|") generators.insert(word.substr(0, word.find(':')));
    CHECK(generators.size() == 8);
    CHECK(kinds == generators);
}

TEST_CASE("a preparation is told in milliseconds and in products, and a rung's lead over the library in times",
          "[program]") {
    const spmv::FormatBytes bytes = spmv::format_bytes(gpulab::lecture_example<float>());
    gpulab::Result result;
    result.variant = "cuda_ell";
    result.kernel.median = 1.5;
    spmv::add_format(result, bytes);
    CHECK(result.extra.size() == 2); // nothing was prepared
    result.prepared_ms = 6;
    spmv::add_format(result, bytes);
    const std::vector<std::pair<std::string, double>> expected = {
        {"format_bytes", 3 * 2 * 8}, {"preparation_ms", 6}, {"preparation_products", 4}};
    REQUIRE(result.extra.size() == 4); // behind the name of the format
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(result.extra[i + 1].name == expected[i].first);
        CHECK(std::get<double>(result.extra[i + 1].value) == expected[i].second);
    }
    CHECK(spmv::against_library("a", "cuda_lanes", 2, 3) == "a: cuda_lanes is 1.50 times as fast as the library");
}

TEST_CASE("megabytes per second of a file are its bytes and the seconds", "[program]") {
    CHECK(spmv::rate_text("read", "a.mtx", 1.5e6, 0.0125) == "read a.mtx: 1.5 MB in 0.013 s, 120 MB/s");
}
