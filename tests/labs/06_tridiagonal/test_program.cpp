// The program as a user meets it: the contract of all programs, and what is this lab's own.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checks.hpp"
#include "gpulab/file.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab_testing/contract.hpp"
#include "gpulab_testing/in_folder.hpp"
#include "studies.hpp"
#include "tridiagonal.hpp"

using gpulab::testing::InFolder;
using gpulab::testing::names_of;
using gpulab::testing::Outcome;
using gpulab::testing::StudyCase;
using namespace tridiagonal;
using namespace tridiagonal::testing;
using Json = nlohmann::json;

namespace {
const gpulab::testing::Program program("tridiagonal", TRIDIAGONAL_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
template <class T> gpulab::testing::KnownWrong wrong_rungs() {
    return gpulab::testing::known_wrong(variants<T>(), [](const auto& v) {
        return first_fault<T>({v.run, std::string(v.name)}, {{33, 1}, {33, 7}, {1000, 1}, {1000, 3}}, {});
    });
}

/// Whether the program ended well, or with 1: a variant is wrong, which its own test says.
bool ran(const Outcome& outcome) { return outcome.exit_code == 0 || outcome.exit_code == 1; }

/// The text of a Matrix Market file. @param size rows and columns @param numbers column by column
std::string array_of(const std::string& size, std::string numbers) {
    std::ranges::replace(numbers, ' ', '\n');
    return "%%MatrixMarket matrix array real general\n" + size + "\n" + numbers + "\n";
}

/// Two systems of two equations, and what solves them: 2 x + y = 4, x + 2 y = 5; 4 x = 4, 5 y = 10. What has no meaning
/// is 9. The columns are a, b, c and d.
const std::string two_systems = array_of("4 4", "9 1 9 0 2 2 4 5 1 9 0 9 4 5 4 10");

gpulab::testing::Operation operation(const std::string& matrix) {
    return {"--n 33 --systems 7 --repeat 2 --layout interleaved --matrix " + matrix,
            {{"matrix", matrix}, {"type", "double"}, {"n", 33}, {"systems", 7}, {"layout", "interleaved"}},
            gpulab::testing::backends_of(variants<double>()),
            "cpu_thomas",
            wrong_rungs<double>(),
            [](const Json&, const Json& v) {
                const bool small = v["residual"] >= 0 && v["residual"] < 1e-14;
                return small && v["bytes"] == 5 * 8 * 33 * 7 && v["flops"] == 8 * 33 * 7 ? "" : "residual or work";
            }};
}

std::optional<StudyCase> study_of(const std::string& name) {
    if (name == "book-launch")
        return StudyCase{
            "--n 64 --systems 32", 2, wrong_rungs<double>(), {}, {gpulab::Backend::opencl, gpulab::Backend::cuda}};
    if (name == "figure-3-7") return StudyCase{"--n 64 --systems 512", 4, wrong_rungs<double>()};
    // Rungs for interleaved data are in CUDA only.
    const bool both = !gpulab::devices(gpulab::Backend::cuda).empty();
    return StudyCase{"--n 32 --systems 32", both ? 2U : 1U, wrong_rungs<double>(),
                     [both, runs = 0](const Json& run) mutable {
                         const char* const layout = ++runs == 1 ? "separate" : "interleaved";
                         const auto& p = run["problem"];
                         const bool same = p["n"] == 32 && p["systems"] == 32 && p["layout"] == layout;
                         return same && runs <= (both ? 2 : 1) ? "" : "another problem";
                     }};
}

const gpulab::testing::ProgramCases contract([] {
    return gpulab::testing::LabProgram{
        .program = program,
        .readme = TRIDIAGONAL_README,
        .variants = names_of(variants<double>()),
        .studies = study_list(),
        .options = "--n --systems --matrix --type --layout --input --output",
        .smallest = "--n 16",
        .refusals = R"(
            --n 0 | --n -3 | --n 2^31 | --systems 0 | --systems 2^31
            --n 1e9 --systems 1e3 : this problem needs
            --matrix hilbert | --type half | --layout both | --backend vulkan
            --input /nonexistent.mtx | --input '' | --input three_columns | --input malformed
            --input announced : tridiagonal: announced: this problem needs
            --input two --systems 3 : tridiagonal: two: 4 equations are not 3 systems of equal size
            --input two --n 2 | --input two --matrix spd | --input two --seed 3
            --output /nonexistent/folder/x.mtx | --output x.mtx --csv ./x.mtx | --output ''
            --input two --systems 2 --repeat 1 --variant cpu_thomas --output - --json -
            --study growth --n 15 | --study growth --layout interleaved | --study growth --input x
            --study figure-3-7 --n 31 | --study figure-3-7 --systems 31 | --study figure-3-7 --layout interleaved
            --study figure-3-8 --n 32 --systems 8)",
        .files = {{"three_columns", array_of("1 3", "1 2 3")},
                  {"malformed", array_of("1 4", "1 2 x 4")},
                  {"two", two_systems},
                  {"announced", "%%MatrixMarket matrix coordinate real general\n2147483647 4 0\n"}},
        .operations = {operation("dominant"), operation("spd"), operation("poisson")},
        .piped = {{"--systems 2 --repeat 1 --variant cpu_thomas --input /dev/stdin --output out.gz", two_systems,
                   array_of("4 1", "1 2 1 2")}},
        // On the device five arrays, five transposed, c'; on the host the reference besides.
        .memory = {{"--n 10000 --systems 1000", 11 * 8e7, 12 * 8e7}},
        .study = study_of,
        .per_element = "ns_per_equation",
        .elements = [](const Json& problem,
                       const Json&) { return problem["n"].get<double>() * problem["systems"].get<double>(); },
        .growth = {{"--n 5000", 5, wrong_rungs<double>()}, // from 16 on
                   {"--n 64 --systems 3", 2, wrong_rungs<double>()}}};
});
/// Two empty equations, for several work-items or warps to report. A report that is not atomic nearly always leaves the
/// right row; tools see the race.
void check_reports(const gpulab::Variant<Run<double>>& v, gpulab::testing::Faults& faults) {
    faults.check("two zero pivots", [&] {
        const std::size_t n = v.backend == gpulab::Backend::cuda ? 600 : 130; // two chunks of a partition
        Problem<double> p = make_problem<double>("dominant", n, 1, 42);
        for (const std::size_t row : {std::size_t{4}, n - 30}) p.a[row] = p.b[row] = p.c[row] = 0;
        Output<double> out(n, 1);
        return gpulab::testing::fault_of(v.run, p, out, [&] {
            const auto row = static_cast<std::size_t>(out.zero_pivot[0]);
            gpulab::Comparison comparison;
            comparison.passed = row == 4 || (row == n - 30 && !reports_lowest(v.name));
            comparison.message = fmt::format("it reports row {}", out.zero_pivot[0]);
            return comparison;
        });
    });
}
const gpulab::testing::VariantCases in_oclgrind(variants<double>(), "reports two zero pivots", "[.oclgrind]",
                                                check_reports, gpulab::testing::only_on<gpulab::Backend::opencl>);
const gpulab::testing::VariantCases in_sanitizer(variants<double>(), "reports two zero pivots", "[.sanitizer]",
                                                 check_reports, gpulab::testing::own_cuda);
} // namespace

TEST_CASE("memory is counted before it is taken, and the tables of both types have the same names", "[program]") {
    const auto one = memory_need<double>(1000, 1), many = memory_need<double>(1000, 1000);
    CHECK(one.device >= 11 * 8e3); // five arrays, five transposed, c'
    CHECK(one.host >= (5 + 1 + 5 + 1 + 3 * 2) * 8e3);
    CHECK(many.host < one.host); // the wide numbers of one system for each thread
    CHECK(names_of(variants<double>()) == names_of(variants<float>()));
}

TEST_CASE("a user's systems are read, solved and their solution is written", "[program]") {
    const InFolder here(program, {{"in", two_systems}});
    for (const std::string type : {"double", "float"}) {
        INFO(type);
        const Outcome outcome =
            here.done("--input in --systems 2 --repeat 1 --output out --variant cpu_thomas --type " + type);
        CHECK(outcome.out.find("n = 2, systems = 2") != std::string::npos);
        CHECK(here.text("out") == array_of("4 1", "1 2 1 2"));
    }
    // One system of four: what separated the two, 9 in c of row 1 and in a of row 2, counts now.
    here.done("--input in --backend cpu --repeat 1 --output out");
    const auto x = gpulab::read_matrix_market<double>(here.path("out"));
    CHECK(x.rows == 4);
    CHECK(x.columns == 1);
}

TEST_CASE("values that are not finite are refused with their place", "[program]") {
    const auto refusal = [](const std::string& input, const std::string& place, const std::string& options) {
        return program.refusal_fault("--input in --output out " + options,
                                     "tridiagonal: in: " + place + ": only finite values can be used\n",
                                     {{"in", input}});
    };
    for (const auto& [numbers, place] : {std::pair{"9 1 9 nan 2 2 4 5 1 9 0 9 4 5 4 10", "a of system 1, row 1 is nan"},
                                         {"9 1 9 0 2 2 inf 5 1 9 0 9 4 5 4 10", "b of system 1, row 0 is inf"},
                                         {"9 1 9 0 2 2 4 5 1 9 -inf 9 4 5 4 10", "c of system 1, row 0 is -inf"}})
        CHECK(refusal(array_of("4 4", numbers), place, "--systems 2 --backend cpu") == "");
    for (const std::string bad : {"nan", "inf", "-inf"})
        for (const std::string type : {"float", "double"})
            CHECK(refusal(array_of("1 4", "0 1 0 " + bad), "d of system 0, row 0 is " + bad, "--type " + type) == "");
}

TEST_CASE("a of a user's first row and c of the last one may be anything", "[program]") {
    for (const std::string any : {"nan", "inf", "-inf"})
        for (const std::string type : {"double", "float"}) {
            INFO(any << ", " << type);
            const std::string numbers = any + " 1 " + any + " 0 2 2 4 5 1 " + any + " 0 " + any + " 4 5 4 10";
            const InFolder here(program, {{"in", array_of("4 4", numbers)}});
            REQUIRE(ran(here("--input in --systems 2 --repeat 1 --backend cpu --output out --type " + type)));
            CHECK(here.text("out") == array_of("4 1", "1 2 1 2"));
            // One system of four: the numbers between the two count now.
            CHECK(here("--backend cpu --input in").err ==
                  "tridiagonal: in: c of system 0, row 1 is " + any + ": only finite values can be used\n");
        }
}

TEST_CASE("a solution larger than its type holds is named with system and row, and no file is written", "[program]") {
    for (const auto& [type, tiny, huge] : {std::array{"double", "1e-300", "1e300"}, {"float", "1e-30", "1e30"}}) {
        const InFolder here(program,
                            {{"in", array_of("4 4", fmt::format("0 0 0 0 1 1 1 {} 0 0 0 0 1 1 1 {}", tiny, huge))}});
        for (const std::string files : {" --output out --json json", ""}) {
            const Outcome run = here(fmt::format("--input in --systems 2 --type {}{}", type, files));
            CHECK(run.exit_code == 2);
            CHECK(run.err ==
                  fmt::format("tridiagonal: the solution is larger than a {} holds: x of system 1, row 1\n", type));
            CHECK(run.out.find("WRONG") == std::string::npos);
            CHECK_FALSE(here.has("out"));
            CHECK_FALSE(here.has("json"));
        }
    }
}

TEST_CASE("a solution that is written reads back to the last digit", "[program]") {
    const auto solution = []<class T>(const std::string& input, T) {
        const InFolder here(program, {{"in", input}});
        here.done(std::string("--input in --repeat 1 --variant cpu_thomas --output out --type ") +
                  (sizeof(T) == 8 ? "double" : "float"));
        return gpulab::read_matrix_market<T>(here.path("out")).value;
    };
    const std::string third = array_of("1 4", "0 3 0 1");
    CHECK(solution(third, double{}) == std::vector<double>{1.0 / 3.0});
    CHECK(solution(third, float{}) == std::vector<float>{0.33333334F});
    // x = d: numbers of 17 digits, as floats of 9, and the largest and the smallest number.
    const std::string identity = "0 0 0 0 1 1 1 1 0 0 0 0 ";
    CHECK(solution(array_of("4 4", identity + "0.30000000000000004 16777218.5 -1.7976931348623157e308 5e-324"),
                   double{}) == std::vector<double>{0.30000000000000004, 16777218.5, -1.7976931348623157e308, 5e-324});
    CHECK(solution(array_of("4 4", identity + "1.00000012 0.100000001 -3.40282347e38 1e-45"), float{}) ==
          std::vector<float>{1.00000012F, 0.100000001F, -3.40282347e38F, 1e-45F});
}

TEST_CASE("the solution that is written is that of the first variant that is right", "[program]") {
    const InFolder here(program);
    const auto written = [&](const std::string& variants) {
        here.done("--n 50 --systems 3 --repeat 1 --output out --variant " + variants);
        return here.text("out");
    };
    const std::string thomas = written("cpu_thomas"), pcr = written("cpu_pcr");
    REQUIRE(thomas != pcr);                         // they round differently
    CHECK(written("cpu_pcr,cpu_thomas") == thomas); // in the order of the table
}

TEST_CASE("the systems follow --matrix and --seed", "[program]") {
    const InFolder here(program);
    const auto solution = [&](const std::string& arguments) {
        here.done("--n 3 --systems 2 --repeat 1 --variant cpu_thomas --output out " + arguments);
        return gpulab::read_matrix_market<double>(here.path("out")).value;
    };
    const std::vector<double> poisson = solution("--matrix poisson"), known = {1.5, 2, 1.5, 3, 4, 3};
    REQUIRE(poisson.size() == known.size());
    for (std::size_t k = 0; k < known.size(); ++k) CHECK(std::abs(poisson[k] - known[k]) < 1e-14);
    CHECK(solution("--matrix spd") != solution("--matrix dominant"));
    CHECK(solution("--seed 1") == solution("--seed 1"));
    CHECK(solution("--seed 1") != solution("--seed 2"));
}

TEST_CASE("in a coordinate file, entries that are not stored are zero", "[program]") {
    const InFolder here(program, {{"in", "%%MatrixMarket matrix coordinate real general\n"
                                         "2 4 5\n1 2 4\n1 4 8\n2 4 6\n2 1 1\n2 2 2\n"}});
    here.done("--input in --repeat 1 --variant cpu_thomas --output out");
    CHECK(here.text("out") == array_of("2 1", "2 2")); // 4 x = 8, x + 2 y = 6
}

TEST_CASE("a zero pivot in a user's system is named with system and row, and the other systems' solutions are written",
          "[program]") {
    const InFolder here(program, {{"in", array_of("4 4", "0 1 0 1 2 2 0 0 1 0 1 0 1 1 1 1")},
                                  {"singular", array_of("2 4", "0 1 0 0 1 0 1 1")}}); // a single system
    const Outcome all = here("--input in --systems 2 --repeat 1 --backend cpu --output out");
    CHECK(all.exit_code == 2);
    CHECK(all.out.find("zero pivot in system 1, row 0: this method does not exchange rows") != std::string::npos);
    CHECK(all.err == "tridiagonal: out: zero pivot in system 1, row 0; x of such systems is nan there, of the others "
                     "the solution of cpu_thomas\n");
    CHECK(here.text("out").starts_with("%%MatrixMarket matrix array real general\n4 1\n0.33333333333333"));
    CHECK(here.text("out").ends_with("\nnan\nnan\n"));
    const auto x = gpulab::read_matrix_market<double>(here.path("out"));
    CHECK(std::abs(x.value[0] - 1.0 / 3) + std::abs(x.value[1] - 1.0 / 3) < 1e-15);
    const Outcome none = here("--input singular --repeat 1 --backend cpu --output x");
    CHECK(none.exit_code == 2);
    CHECK(none.err == "tridiagonal: x: not written, because no variant has solved all systems\n");
    CHECK_FALSE(here.has("x"));
    const Outcome named = here("--input in --systems 2 --repeat 1 --variant cpu_cr");
    CHECK(named.exit_code == 2);
    CHECK(named.err == "tridiagonal: cpu_cr: zero pivot in system 1, row 0: this method does not exchange rows\n");
}

TEST_CASE("several right-hand sides are columns of the file, and so are their solutions", "[program]") {
    std::string three = two_systems; // and twice the first right-hand side, and a third one
    three.replace(three.find("4 4\n"), 4, "4 6\n");
    const InFolder here(program, {{"in", three + "8\n10\n8\n20\n" + "3\n0\n2\n1\n"}});
    const std::string expected = array_of("4 3", "1 2 1 2 2 4 2 4 2 -1 0.5 0.2"),
                      arguments = "--input in --systems 2 --repeat 1 --variant cpu_thomas --output ";
    const Outcome to_file = here.done(arguments + "out");
    CHECK(to_file.out.ends_with("\nout: the solution of cpu_thomas\n"));
    CHECK(to_file.out.find("n = 2, systems = 6") != std::string::npos);
    CHECK(here.text("out") == expected);
    const Outcome to_stdout = here.done(arguments + "-");
    CHECK(to_stdout.out == expected);
    CHECK(to_stdout.err.find("1 right, 0 wrong") != std::string::npos);
}

TEST_CASE(
    "a system that loses digits without exchanging rows is skipped by the variants that lose them, with the reason",
    "[program]") {
    // Thomas divides by 1e-20; the rows exchanged, nothing would be lost.
    const InFolder here(program, {{"in", array_of("3 4", "0 1 1 1e-20 1 1 1 1 0 1 2 3")}});
    const Outcome outcome = here("--input in --repeat 1 --backend cpu --output out");
    CHECK(outcome.out.find("WRONG") == std::string::npos);
    CHECK(outcome.exit_code == (outcome.out.find(": the solution of ") != std::string::npos ? 0 : 2));
    CHECK(outcome.out.find("without exchanging rows this system loses digits") != std::string::npos);
}

TEST_CASE("every problem of a study has the sequential time, and speed-ups that refer to it", "[program][thorough]") {
    const auto runs = program.results("--study figure-3-7 --n 512 --systems 512 --variant cpu_thomas,cpu_cr");
    REQUIRE(runs.size() == 2 * 5);
    for (const auto& run : runs) {
        INFO(run["problem"]);
        CHECK(gpulab::testing::reference_fault(run, "cpu_thomas") == "");
        REQUIRE(run["sequential_ms"] > 0);
        const double unknowns = run["problem"]["n"].get<double>() * run["problem"]["systems"].get<double>();
        for (const auto& v : run["variants"]) {
            const double speedup = v["speedup"];
            const double ratio = run["sequential_ms"].get<double>() / v["kernel_ms"]["median"].get<double>();
            CHECK(std::abs(speedup / ratio - 1) < 1e-12);
            CHECK(v["bytes"] == 5 * 8 * unknowns); // of all systems
            CHECK(v["flops"] == 8 * unknowns);
        }
    }
}

namespace {
/// What is wrong with the CR of the study book-launch: its sizes, those beside them, NaN and zero pivots.
/// @param few whether the device may refuse groups of more than 256: NVIDIA's OpenCL does
template <class T> [[maybe_unused]] std::string book_cr_fault(const Candidate<T>& v, bool few = false) {
    using namespace testing;
    Shapes shapes = {{1, 1}, {2, 3}, {3, 2}, {31, 1}, {32, 7}, {33, 1}, {64, 3}, {511, 1}, {512, 3}};
    if (!few) shapes.insert(shapes.end(), {{1023, 1}, {1024, 3}});
    for (const std::string& fault : {fault_by_hand<T>(v), first_fault<T>(v, shapes, {"dominant"}),
                                     nan_fault<T>(v, {{33, 3}}), zero_pivot_fault<T>(v, {{33, 3}}, thin_rows)})
        if (!fault.empty()) return fault;
    return "";
}
} // namespace

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("CR with the book's launch is right on OpenCL devices", "[opencl]") {
    for (const auto& device : gpulab::testing::devices_or_skip(gpulab::Backend::opencl)) {
        gpulab::use(device);
        const bool few = device.name.find("NVIDIA") != std::string::npos;
        CHECK(book_cr_fault<float>({opencl_book_cr<float>, "opencl_book_cr"}, few) == "");
        if (device.fp64) CHECK(book_cr_fault<double>({opencl_book_cr<double>, "opencl_book_cr"}, few) == "");
    }
}
#endif
#if defined(GPULAB_WITH_CUDA)
TEST_CASE("CR with the book's launch is right on CUDA devices", "[cuda]") {
    for (const auto& device : gpulab::testing::devices_or_skip(gpulab::Backend::cuda)) {
        gpulab::use(device);
        CHECK(book_cr_fault<float>({cuda_book_cr<float>, "cuda_book_cr"}) == "");
        CHECK(book_cr_fault<double>({cuda_book_cr<double>, "cuda_book_cr"}) == "");
    }
}
TEST_CASE("overlapping windows are right where they solve everything and where they do not", "[cuda]") {
    using namespace tridiagonal::testing;
    const auto fault = []<class T>(const Candidate<T>& v) {
        const Shapes shapes = {{1, 1}, {3, 2}, {128, 1}, {1791, 1}, {1792, 3}, {1793, 1}, {1920, 2}, {3585, 1}};
        for (const std::string& found : {fault_by_hand<T>(v), first_fault<T>(v, shapes, {"dominant", "spd", "poisson"}),
                                         nan_fault<T>(v, {{1800, 2}}), zero_pivot_fault<T>(v, {{1800, 2}}, thin_rows)})
            if (!found.empty()) return found;
        return std::string();
    };
    for (const auto& device : gpulab::testing::devices_or_skip(gpulab::Backend::cuda)) {
        gpulab::use(device);
        CHECK(fault(Candidate<float>{tridiagonal::cuda_partition_windows<float>, "cuda_partition"}) == "");
        CHECK(fault(Candidate<double>{tridiagonal::cuda_partition_windows<double>, "cuda_partition"}) == "");
    }
}
TEST_CASE("CR with the book's launch under compute-sanitizer", "[.sanitizer]") {
    for (const auto& device : gpulab::testing::devices_or_skip(gpulab::Backend::cuda)) {
        gpulab::use(device);
        CHECK(book_cr_fault<double>({cuda_book_cr<double>, "cuda_book_cr"}) == "");
    }
}
#endif

TEST_CASE("a study takes its type and its matrix from the user", "[program]") {
    const auto runs = program.results("--study growth --n 16 --type float --matrix spd --repeat 1 --backend cpu");
    REQUIRE(runs.size() == 1);
    CHECK(runs[0]["problem"]["type"] == "float");
    CHECK(runs[0]["problem"]["matrix"] == "spd");
    CHECK(runs[0]["problem"]["layout"] == "separate");
    CHECK(runs[0]["variants"][0]["bytes"] == 5 * 4 * 16);
    CHECK(runs[0]["variants"][0]["flops"] == 8 * 16);
}
