// The program as a user meets it: the contract of all programs, and what is this lab's own.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "batch.hpp"
#include "checks.hpp"
#include "files.hpp"
#include "gpulab/device.hpp"
#include "gpulab_testing/capture.hpp"
#include "gpulab_testing/contract.hpp"
#include "gpulab_testing/in_folder.hpp"
#include "rungs.hpp"
#include "solve_checks.hpp"
#include "studies.hpp"
#include "system.hpp"

using gpulab::Backend;
using gpulab::testing::InFolder;
using gpulab::testing::names_of;
using gpulab::testing::Outcome;
using gpulab::testing::StudyCase;
using namespace lu;
using namespace lu::testing;
using Json = nlohmann::json;

namespace {
const gpulab::testing::Program program("lu", LU_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
const gpulab::testing::KnownWrong wrong_rungs = gpulab::testing::any_of(
    {gpulab::testing::known_wrong(variants(),
                                  [](const auto& v) {
                                      return fault_at({v.run, v.backend, pivots(v.name), v.baseline}, {65});
                                  }),
     gpulab::testing::known_wrong(batch_variants(),
                                  [](const auto& v) {
                                      const Problem p = make_batch(33, 20, seed);
                                      Factors f(33, 20);
                                      return gpulab::testing::fault_of(v.run, p, f,
                                                                       [&] { return compare(p, f, true); });
                                  }),
     gpulab::testing::known_wrong(solve_variants(), [](const auto& v) {
         return fault_of(Solver{v.run, Backend::cpu, refines(v.name), true}, {65}, {3});
     })});

const std::string header = "%%MatrixMarket matrix array real general\n";

/// The program in a folder with the files of one system, A X = B.
struct System : InFolder {
    System(const std::string& a, const std::string& b) : InFolder(program, {{"A", a}, {"B", b}}) {}
    Outcome solved(const std::string& more = "") const { return (*this)("--matrix A --rhs B " + more); }
    std::vector<double> solution() const { return read_dense(path("X")).values; } ///< from the file X
};

std::optional<StudyCase> study_of(const std::string& name) {
    if (name == "figure-3-10")
        return StudyCase{"--backend cpu", 5, wrong_rungs,
                         [](const Json& run) { return gpulab::testing::reference_fault(run, "cpu_right_looking"); }};
    if (name == "block")
        return StudyCase{"--n 100 --backend cpu", 9, wrong_rungs, [](const Json& run) {
                             return gpulab::testing::reference_fault(run, "cpu_right_looking_pivot");
                         }};
    if (name == "update") return StudyCase{"", 4, {}, {}, {Backend::cuda}};
    return std::nullopt;
}

const gpulab::testing::ProgramCases contract([] {
    using gpulab::testing::backends_of;
    return gpulab::testing::LabProgram{
        .program = program,
        .readme = LU_README,
        .variants = names_of(variants(), batch_variants(), solve_variants()),
        .left_out = gpulab::testing::left_out("cpu_openblas_pivot", "cpu_eigen_pivot"),
        .studies = study_list(),
        .options = "--op --n --matrices --rhs-count --matrix --rhs --solution",
        .smallest = "--n 16",
        // In main memory A, the factors, and a copy with which they are compared; B and X besides: 4 * 8 (n^2 + 3 n m)
        // bytes for m right-hand sides, n being that of a file's matrix. The studies: see run_study().
        .refusals = R"(
            --n 0 | --n -1 | --n 2^21 | --n 1.5 | --op invert
            --rhs-count 4 | --op solve --rhs-count 0 | --op batch --rhs-count 2 | --matrices 3
            --op batch --matrices 0 | --op batch --n 0 | --op batch --n 129
            --op batch --n 200 : --n: the matrices of --op batch have at most 128 rows, not 200
            --variant cpu_solve_rows | --variant cpu_batch_threads
            --op batch --variant cpu_blocked | --op solve --variant cpu_blocked
            --op batch --matrix /nonexistent.mtx | --matrix /nonexistent.mtx | --rhs /nonexistent.mtx
            --solution x.mtx
            --matrix long : lu: long: a square matrix is needed, not 2147483647 x 1
            --op solve --matrix long : lu: long: a square matrix is needed, not 2147483647 x 1
            --matrix large : lu: large: this problem needs
            --op solve --matrix large : lu: large: 
            --n 2^20 : needs 24576.0 GiB of main memory
            --op solve --n 2^20 --rhs-count 2^20 : needs 131072.0 GiB of main memory
            --study block --n 2^20 : needs 32768.0 GiB of main memory
            --op batch --n 100 --matrices 1e7 : main memory
            --op solve --rhs-count 2^20 --backend cpu --matrix sparse : needs 1886.9 GiB
            --matrix a --rhs b --n 2 | --matrix a --rhs b --op solve | --matrix a --rhs b --csv x.csv
            --matrix a --rhs b --repeat 5 | --matrix a --rhs b --warmup 0 | --matrix a --rhs b --flush-l2
            --matrix a --rhs b --seed 1 | --matrix a --rhs b --rhs-count 1 | --matrix a --rhs b --study block
            --matrix a --rhs b --solution /nonexistent/folder/x.mtx | --matrix a --rhs b --variant cpu_solve_rows
            --matrix a --rhs b --variant cpu_blocked_pivot,cpu_two_stage_pivot
            --matrix a --rhs b --solution a | --matrix a --rhs b --solution ./b : would overwrite
            --matrix a --json a | --matrix a --op solve --csv a : would overwrite
            --matrix a --rhs b --json - --solution -
            --study ladder --n 64 | --study growth --n 15 | --study figure-3-10 --n 64)",
        .files = {{"a", header + "2 2\n1\n0\n0\n1\n"},
                  {"b", header + "2 1\n1\n2\n"},
                  {"long", "%%MatrixMarket matrix coordinate real general\n2147483647 1 0\n"},
                  {"large", "%%MatrixMarket matrix coordinate real general\n40000000 40000000 0\n"},
                  {"sparse", "%%MatrixMarket matrix coordinate real general\n20000 20000 1\n1 1 1\n"}},
        .operations = {{"--n 65 --repeat 2",
                        {{"n", 65}, {"op", "factorise"}},
                        backends_of(variants()),
                        "cpu_right_looking_pivot",
                        wrong_rungs},
                       {"--op solve --n 65 --rhs-count 3 --repeat 2",
                        {{"rhs_count", 3}},
                        backends_of(solve_variants()),
                        "cpu_solve_rows",
                        wrong_rungs},
                       {"--op batch --n 33 --matrices 20 --repeat 2",
                        {{"op", "batch"}, {"n", 33}, {"matrices", 20}},
                        backends_of(batch_variants()),
                        "cpu_batch_sequential",
                        wrong_rungs}},
        // Measuring needs the size first, then the matrix.
        .piped = {{"--matrix /dev/stdin --rhs b.gz --solution out.gz",
                   header + "2 2\n2\n0\n0\n4\n",
                   header + "2 1\n1\n1\n",
                   {{"b.gz", header + "2 1\n2\n4\n"}}},
                  {"--repeat 1 --backend cpu --matrix /dev/stdin --csv out.gz", header + "1 1\n2\n", "lab,"},
                  {"--op solve --repeat 1 --backend cpu --matrix /dev/stdin --csv out.gz", header + "1 1\n2\n",
                   "lab,"}},
        .memory = {{"--n 10000", 2 * 8e8, 3 * 8e8},
                   {"--op solve --n 10000 --rhs-count 100", 2 * 8 * 1.03e8, 4 * 8 * 1.03e8},
                   {"--op batch --n 100 --matrices 7000", 2 * 8 * 7e7, 3 * 8 * 7e7},
                   {"--study block --n 10000", 3 * 8e8, 4 * 8e8}},
        .study = study_of,
        .per_element = "ns_per_operation",
        .elements =
            [](const Json& problem, const Json&) {
                double sum = 0; // a division and two operations for each element left in its row, in each row
                for (double rest = problem["n"].get<double>() - 1; rest > 0; --rest) sum += rest * (1 + 2 * rest);
                return sum;
            },
        .growth = {{"--n 100", 3, wrong_rungs}}};
});
} // namespace

TEST_CASE("the matrix of a file is factorised by every variant, and one without pivoting is skipped at a zero pivot",
          "[program]") {
    const InFolder here(program, {{"A", header + "2 2\n0\n1\n1\n0\n"}});
    const auto run = here.results("--repeat 1 --backend cpu --matrix A");
    CHECK(run["problem"]["n"] == 2);
    for (const auto& v : run["variants"]) {
        const bool pivoting = pivots(v["name"].get<std::string>());
        CHECK(v["status"] == (pivoting ? "passed" : "skipped"));
        if (!pivoting) CHECK(v["reason"].get<std::string>().find("_pivot") != std::string::npos);
    }
    CHECK(program.refusal_fault("--variant cpu_blocked --matrix " + here.path("A")) ==
          ""); // asked for by name: an error
}

TEST_CASE("a file's numbers stay what they are, however much they differ in size", "[program]") {
    const System s(header + "2 2\n1e200\n0\n0\n1e-200\n", header + "2 1\n2e200\n3e-200\n");
    for (const auto& v : s.results("--repeat 1 --backend cpu --matrix A")["variants"]) CHECK(v["status"] == "passed");
    CHECK(s.solved("--backend cpu --solution X").exit_code == 0);
    CHECK(s.solution() == std::vector<double>{2, 3});
}

TEST_CASE("the program solves a user's system and says how good the solution is, also in JSON and on stdout",
          "[program]") {
    const System s(header + "3 3\n2\n1\n4\n3\n1.5\n2\n8\n7\n8\n", header + "3 2\n13\n9.5\n14\n26\n19\n28\n");
    const Outcome run = s.solved("--json json --solution X");
    INFO(run.err);
    REQUIRE(run.exit_code == 0);
    CHECK(run.out.find("residual:") != std::string::npos);
    CHECK(run.out.find("condition:") != std::string::npos);
    CHECK(run.out.find("2 right-hand sides") != std::string::npos);
    const Dense x = read_dense(s.path("X"));
    REQUIRE((x.rows == 3 && x.columns == 2));
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(std::abs(x.values[2 * i] - 1) < 1e-14);
        CHECK(std::abs(x.values[2 * i + 1] - 2) < 1e-14);
    }
    const auto printed = s.json("json");
    CHECK((printed["lab"] == "lu" && printed["problem"]["n"] == 3 && printed["problem"]["rhs_count"] == 2));
    CHECK(printed["factorise_ms"] > 0);
    CHECK(printed["solve_ms"] > 0);
    CHECK(printed["condition"] > 1);
    CHECK(printed["digits"] == 14);
    const Outcome to_stdout = s.solved("--solution -");
    CHECK(to_stdout.out == s.text("X"));
    CHECK(to_stdout.err.find("About 14 digits of X are right.") != std::string::npos);
    CHECK(nlohmann::json::parse(s.solved("--json -").out)["digits"] == 14);
    CHECK(s.solved("--variant cpu_two_stage_pivot").exit_code == 0);
    CHECK(s.solved("--variant cpu_two_stage").err.find("_pivot") != std::string::npos); // its pivot is 0
}

TEST_CASE("a sparse file, symmetric, is a system's matrix as well", "[program]") {
    const System s("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n",
                   "%%MatrixMarket matrix coordinate real general\n2 1 1\n2 1 11\n");
    CHECK(s.solved("--solution X").exit_code == 0);
    CHECK(std::abs(s.solution().at(0) + 1) < 1e-14);
    CHECK(std::abs(s.solution().at(1) - 4) < 1e-14);
}

TEST_CASE("a system that has no solution, and files that do not fit each other, are one line and exit code 2",
          "[program]") {
    const std::string two = header + "2 1\n1\n2\n";
    for (const auto& [a, b, words] : {
             std::tuple{header + "2 2\n1\n2\n2\n4\n", two, "singular: column 2"},
             {header + "2 3\n1\n2\n3\n4\n5\n6\n", two, "square"},
             {header + "1 1\n1\n", two, "2 rows"},
             {header + "2 2\n1\n0\n0\nnan\n", two, ": the value in row 2, column 2 is nan"},
             {header + "2 2\n1\n0\n0\n1\n", header + "2 1\n1\ninf\n", ": the value in row 2, column 1 is inf"},
             // Entries at one position add up.
             {"%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1e308\n2 2 1e308\n", two,
              "more than the type holds"},
             {header + "2 2\n1\n0\n0\n1\n", header + "2 0\n", "nothing to solve"},
             {header + "2 2\n1\n0\n0\n", two, "the file ends"},
             {header + "2 2\n1\n0\nzero\n1\n", two, ":5:"},
             {header + "2 2\n1\n0\n0\n1\n1\n", two, "one entry too many"},
             {"no matrix\n", two, ":1:"},
             {header + "0 0\n", two, "square"},
             {"%%MatrixMarket matrix array complex general\n1 1\n1 1\n", two, "complex"},
             {"%%MatrixMarket matrix coordinate real general\n2000000 2000000 1\n1 1 1\n", two, "main memory four"},
             {header + "2 2\n1e308\n1e308\n1e308\n-1e308\n", two, "overflows"},
             {header + "2 2\n1e-200\n0\n0\n1\n", header + "2 1\n1e200\n1\n", "larger than a double"},
         }) {
        INFO(a << b);
        CHECK(program.refusal_fault("--matrix a --rhs b --solution x", words, {{"a", a}, {"b", b}}) == "");
    }
}

TEST_CASE("a batch has matrices of 32 rows unless told", "[program]") {
    CHECK(program.results("--op batch --matrices 2 --repeat 1 --backend cpu")["problem"]["n"] == 32);
}

TEST_CASE("the seed decides what is random", "[program]") {
    const InFolder here(program, {{"A", array_text({33, 33, make_problem(33, 1).a})}});
    for (const std::string options : {"--n 33 --variant cpu_blocked", "--n 33 --op solve --variant cpu_solve_rows",
                                      "--matrix A --op solve --variant cpu_solve_rows"}) { // only B is random
        INFO(options);
        const auto error = [&](int seed) {
            const auto run = here.results(fmt::format("--repeat 1 {} --seed {}", options, seed));
            return run["variants"][0]["error"].get<double>();
        };
        CHECK(error(1) != error(2));
    }
    CHECK(program.refusal_fault("--seed 1 --matrix " + here.path("A")) == "");
}

TEST_CASE("a matrix that is nearly singular is solved with refinement and a warning", "[program]") {
    const System s(array_text({10, 10, hilbert(10).a}), array_text({10, 1, std::vector(10, 1.0)}));
    const Outcome run = s.solved();
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("solve_refined in") != std::string::npos);
    CHECK(run.out.find("residual: 0,") == std::string::npos);
    CHECK(run.out.find("About 2 digits") != std::string::npos); // 3.5e13 of 4.5e15
    const System worse(header + "2 2\n1\n1\n1\n1.0000000000000002\n", header + "2 1\n1\n2\n");
    CHECK(worse.solved().out.find("no right digit") != std::string::npos);
}

TEST_CASE("a solution whose residual is larger than rounding explains is wrong: exit code 1 and no file", "[program]") {
    // Without pivoting a tiny first pivot makes factors that grow: right as factors, but one step of refinement no
    // longer makes up for them.
    bool some_right = false, some_wrong = false;
    for (const double pivot : {1e-2, 1e-10, 1e-11}) {
        INFO("first pivot " << pivot);
        const Problem p{4, {pivot, 3, 5, 1, 2, 7, 1, 4, 4, 1, 6, 3, 1, 5, 2, 8}};
        const std::vector<double> b = {1, 2, 3, 4};
        const SolveProblem system = make_solve_problem(p, factorised_by(cpu_blocked, p), b, 1);
        const Solution x = solved_by(cpu_solve_refined, system);
        const double error = backward_error(system, x);
        REQUIRE(error < 1e6);
        (error <= 1 ? some_right : some_wrong) = true;

        const System s(array_text({4, 4, p.a}), array_text({4, 1, b}));
        const Outcome run = s.solved("--variant cpu_blocked --solution X");
        CHECK(run.exit_code == (error <= 1 ? 0 : 1));
        CHECK(run.err == (error <= 1 ? "" : "lu: the residual is larger than rounding explains\n"));
        REQUIRE(s.has("X") == (error <= 1));
        if (error <= 1) CHECK(s.solution() == x);
    }
    CHECK((some_right && some_wrong));
}

TEST_CASE("a subnormal solution has as many right digits as it holds", "[program]") {
    for (const auto& [b, digits] :
         {std::pair{"1e-300", "About 15 "}, {"1e-312", "About 11 "}, {"5e-324", "About 0 "}}) {
        const System s(header + "2 2\n1\n0\n0\n1\n", header + "2 1\n0\n" + b + "\n");
        CHECK(s.done("--matrix A --rhs B").out.find(digits) != std::string::npos); // of units of 5e-324
    }
}

TEST_CASE("a dense matrix written and read again is the same to the last bit", "[program]") {
    const Dense matrix{3, 2, {0, 1e-300, -0.1, 1.0 / 3, 1e22, 5e-324}};
    const InFolder here(program, {{"A", array_text(matrix)}});
    const Dense again = read_dense(here.path("A"));
    CHECK((again.rows == 3 && again.columns == 2));
    CHECK(again.values == matrix.values);
}

namespace {
std::vector<int> narrow, wide; // the widths that two rungs were given

template <std::vector<int>* widths>
void notes_width(const Problem& p, Factors& f, gpulab::Stopwatch& watch, int width) {
    widths->push_back(width);
    cpu_right_looking_pivot(p, f, watch);
}
} // namespace

TEST_CASE("the study of panel widths runs each rung with the widths that it takes", "[program]") {
    const std::array<PanelRung, 2> rungs = {{{"cpu_blocked_pivot", Backend::cpu, notes_width<&narrow>, 24},
                                             {"cpu_threads_pivot", Backend::cpu, notes_width<&wide>, 256}}};
    const gpulab::testing::ScratchFile json;
    gpulab::Options options("lu", "a test");
    options.studies(study_list());
    const std::array arguments = {"lu", "--study", "block", "--repeat", "1", "--json", json.path().c_str()};
    REQUIRE(options.parse(static_cast<int>(arguments.size()), arguments.data()));
    gpulab::testing::printed_by([&] {
        gpulab::Surroundings surroundings;
        surroundings.ceilings = [](const gpulab::Device&, gpulab::Arithmetic) {
            return gpulab::Ceilings{.copy_gb_s = 10, .fp64_gflop_s = 10};
        };
        gpulab::Report report(options, {}, surroundings);
        block(options, report, 20, rungs);
        report.finish();
    });
    // The kernel, and one whole pass.
    CHECK(narrow == std::vector<int>{8, 8, 16, 16, 24, 24});
    CHECK(wide == std::vector<int>{8, 8, 16, 16, 24, 24, 32, 32, 48, 48, 64, 64, 96, 96, 128, 128, 256, 256});
    for (const auto& run : json.json()) {
        const int width = run["problem"]["width"];
        CHECK(run["variants"].size() == (width <= 24 ? 2 : 1));
        for (const auto& v : run["variants"]) CHECK(v["flops"] == make_problem(20, 42).flops());
    }
    CHECK(panel_rungs().size() == 3);
}

TEST_CASE("what the program says of a system is what was found, each figure at its place", "[program]") {
    SolvedSystem s{.matrix = "a.mtx",
                   .n = 7,
                   .count = 1,
                   .variant = "cpu_threads_pivot",
                   .device = "Test CPU",
                   .factorise_ms = 250.5,
                   .solver = "cpu_solve_refined",
                   .solve_ms = 3.25,
                   .residual = 1.5e-15,
                   .backward_error = 0.125,
                   .condition = 4096,
                   .digits = 12};
    CHECK(text_of(s) ==
          "a.mtx: 7 x 7, 1 right-hand side\n"
          "factorised by cpu_threads_pivot on Test CPU in 250.5 ms, solved by cpu_solve_refined in 3.25 ms\n"
          "residual: 1.5e-15, the largest element of B - A X; 0.125 times n eps (norm(A) norm(X) + norm(B))\n"
          "condition: 4.1e+03, estimated in the 1-norm\n"
          "About 12 digits of X are right.\n");
    const auto json = nlohmann::json::parse(json_of(s));
    CHECK(json == nlohmann::json::parse(R"({"lab": "lu", "problem": {"op": "solve", "matrix": "a.mtx", "n": 7,
        "rhs_count": 1}, "factorised_by": "cpu_threads_pivot", "device": "Test CPU", "factorise_ms": 250.5,
        "solved_by": "cpu_solve_refined", "solve_ms": 3.25, "residual": 1.5e-15, "backward_error": 0.125,
        "condition": 4096.0, "digits": 12})"));
    s.count = 2;
    s.digits = -1;
    s.condition = HUGE_VAL;
    CHECK(text_of(s).starts_with("a.mtx: 7 x 7, 2 right-hand sides\n"));
    CHECK(text_of(s).ends_with("\ncondition: inf, estimated in the 1-norm\n"
                               "The matrix is singular to working precision: X may have no right digit.\n"));
    CHECK(nlohmann::json::parse(json_of(s))["condition"].is_null());
    CHECK(nlohmann::json::parse(json_of(s))["digits"] == 0);
}

TEST_CASE("the digits of a solution are those that the condition leaves and a double holds", "[program]") {
    CHECK(right_digits(1, 1) == 15);
    CHECK(right_digits(3.5e13, 1) == 2);
    CHECK(right_digits(4.4e15, 1) == 0);
    CHECK(right_digits(4.6e15, 1) == -1);
    CHECK(right_digits(HUGE_VAL, 1) == -1);
    CHECK(right_digits(1, 0) == 15);
    CHECK(right_digits(1, 1e-312) == 11);
}

TEST_CASE("without a GPU all cores of the CPU factorise a system, not OpenCL on it", "[program]") {
    CHECK(std::vector<std::string_view>(std::begin(preferred_variants), std::end(preferred_variants)) ==
          std::vector<std::string_view>{"cuda_critical_path_pivot", "cuda_blocked_pivot", "cpu_threads_pivot",
                                        "opencl_blocked_pivot"});
    const System s(header + "1 1\n2\n", header + "1 1\n4\n");
    CHECK(s.solved("--backend cpu,opencl").out.find("factorised by cpu_threads_pivot") != std::string::npos);
}

TEST_CASE("systems of tiny and of huge numbers are solved as those of ordinary ones are", "[program][thorough]") {
    const std::vector<double> a = {4, 1, 0, 1, 3, -1, 0.5, 1, 2}, b = {6, 4, 8.5}; // x = 1, 2, 3
    for (const double of_a : {0x1p-1068, 0x1p-1030, 0x1p-660, 1.0, 0x1p660, 0x1p1020})
        for (const double of_b : {0x1p-1068, 1.0, 0x1p660}) {
            INFO("A times " << of_a << ", B times " << of_b);
            std::vector<double> scaled_a = a, scaled_b = b;
            for (double& v : scaled_a) v *= of_a;
            for (double& v : scaled_b) v *= of_b;
            const double size = of_b / of_a;
            const System s(array_text({3, 3, scaled_a}), array_text({3, 1, scaled_b}));
            const Outcome run = s.solved("--backend cpu --solution X");
            if (!std::isfinite(3 * size)) {
                CHECK(run.exit_code == 2);
                continue;
            }
            REQUIRE(run.exit_code == 0);
            CHECK(run.out.find("condition: inf") == std::string::npos);
            for (std::size_t i = 0; i < 3; ++i) {
                const double expected = static_cast<double>(i + 1) * size;
                CHECK(std::abs(s.solution().at(i) - expected) <= 1e-13 * std::abs(expected) + 5e-324);
            }
        }
    const InFolder tiny(program, {{"A", array_text({2, 2, {0x1p-1073, 0x1p-1074, 0x1p-1072, 0x1p-1070}})}});
    CHECK(tiny("--repeat 1 --backend cpu --matrix A").exit_code == 0);
}

TEST_CASE("the study of pivoting compares times and growth", "[program][thorough]") {
    const auto runs = program.results("--study pivoting --repeat 1 --warmup 0 --backend cpu");
    REQUIRE(runs.size() == 5);
    const auto of = [](const nlohmann::json& run, const std::string& name) {
        for (const auto& v : run["variants"])
            if (v["name"] == name) return v;
        return nlohmann::json();
    };
    for (const auto& run : runs)
        for (const std::string name : {"cpu_right_looking", "cpu_two_stage", "cpu_blocked", "cpu_threads"}) {
            const auto plain = of(run, name), pivoting = of(run, name + "_pivot");
            INFO(name << ", n = " << run["problem"]["n"]);
            CHECK_FALSE(plain.contains("times_without"));
            REQUIRE(plain["status"] == pivoting["status"]);
            if (plain["status"] == "skipped") continue;
            const double ratio =
                pivoting["kernel_ms"]["median"].get<double>() / plain["kernel_ms"]["median"].get<double>();
            CHECK(std::abs(pivoting["times_without"].get<double>() / ratio - 1) < 1e-12);
        }
    const auto plain = of(runs[0], "cpu_blocked"), pivoting = of(runs[0], "cpu_blocked_pivot"); // n = 256
    CHECK(plain["growth"].get<double>() > 100);
    CHECK(pivoting["growth"].get<double>() > 1);
    CHECK(pivoting["growth"].get<double>() < 100);
}
