// The program as a user meets it: the contract of all programs, and what is this lab's own.
#include <zlib.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab_testing/contract.hpp"
#include "gpulab_testing/in_folder.hpp"
#include "studies.hpp"

using gpulab::testing::InFolder;
using gpulab::testing::names_of;
using gpulab::testing::Outcome;
using gpulab::testing::StudyCase;
using Json = nlohmann::json;
using namespace cg;
using namespace cg::testing;

namespace {
const gpulab::testing::Program program("cg", CG_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
gpulab::testing::KnownWrong wrong_rungs() {
    return gpulab::testing::known_wrong(
        variants<double>(), [](const auto& v) { return first_fault<double>(v.run, all_systems<double>()); });
}

/// Whether the program ended well, or with 1: a variant is wrong, which its own test says.
bool ran(const Outcome& outcome) { return outcome.exit_code == 0 || outcome.exit_code == 1; }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The words of a text, with one blank behind each.
std::string in_one_line(const std::string& text) {
    std::string line;
    std::istringstream words(text);
    for (std::string word; words >> word;) line += word + ' ';
    return line;
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

/// What is wrong with the figures of a result that follow from its others, or "".
std::string derived_fault(const nlohmann::json& v) {
    const double ms = v["kernel_ms"]["median"];
    if (!is_near(v["us_per_iteration"], 1000 * ms / v["iterations"].get<double>())) return "us_per_iteration";
    if (!v.contains("ms_overhead")) return "";
    double kernels = 0;
    for (const auto& [name, value] : v.items())
        if (name.starts_with("ms_") && name != "ms_overhead") kernels += value.get<double>();
    return is_near(v["ms_overhead"], std::max(0.0, ms - kernels)) ? "" : "ms_overhead";
}

gpulab::testing::Operation operation(const std::string& type) {
    return {"--generate springs:6x5 --preconditioner jacobi --tolerance 1e-4 --repeat 2 --type " + type,
            {{"matrix", "springs:6x5"}, {"n", 60}, {"preconditioner", "jacobi"}, {"type", type}},
            gpulab::testing::backends_of(variants<double>()),
            "cpu_sequential",
            wrong_rungs(),
            [](const Json&, const Json& v) -> std::string {
                return v["iterations"] > 5 && v["residual"] < 1.1e-4 ? derived_fault(v) : "iterations or residual";
            }};
}

/// The tables, scaling and history have tests of their own for their figures.
std::optional<StudyCase> study_of(const std::string& name) {
    StudyCase study{"--rows 400", 1, wrong_rungs()};
    if (name.starts_with("table-")) // 100 iterations whatever the residual is
        study.fault = [](const Json& run) {
            return run["problem"]["limit"] == 100 && run["problem"]["tolerance"] == 0 ? "" : "limit or tolerance";
        };
    if (name != "history") study.needs = {gpulab::Backend::opencl, gpulab::Backend::cuda};
    return study;
}

const gpulab::testing::ProgramCases contract([] {
    const std::string sparse = "%%MatrixMarket matrix coordinate real general\n",
                      array = "%%MatrixMarket matrix array real general\n";
    return gpulab::testing::LabProgram{
        .program = program,
        .readme = CG_README,
        .variants = names_of(variants<double>()),
        .left_out = gpulab::testing::left_out("", "cpu_eigen"),
        .studies = study_list(),
        .options = "--matrix --generate --rhs --start --solution --history --trace --write --tolerance --criterion "
                   "--limit --method --preconditioner --type --parts --balance --tuning --rows",
        .smallest = "--generate laplace2d:4",
        .refusals = R"(
            --generate nothing | --generate laplace2d:0 | --generate springs:3 | --generate lecture
            --generate laplace2d:40000 : cg: laplace2d:40000: this problem needs
            --matrix vast : cg: vast: this problem needs
            --matrix skew : cg: skew is not symmetric: element (1, 2) is 1, element (2, 1) is 0
            --matrix wide | --matrix zero --preconditioner jacobi | --matrix zero --solution zero
            --matrix /nonexistent.mtx | --matrix '' | --generate laplace2d:4 --matrix skew
            --rhs /nonexistent.mtx | --generate laplace2d:4 --rhs three | --generate laplace2d:4 --start three
            --generate laplace2d:2 --rhs table
            --generate laplace2d:4 --rhs long : cg: long: a vector of 2147483646 numbers, not 16
            --generate laplace2d:4 --start long : cg: long: a vector of 2147483646 numbers, not 16
            --generate laplace2d:4 --type double --rhs huge : a norm of 1e+200; its square is needed
            --generate laplace2d:4 --type double --rhs huge : so it must be at most 1.3e+154 in double precision
            --tolerance -1 | --tolerance nan | --limit 0 | --method newton | --preconditioner ilu | --criterion any
            --type half | --parts 0 | --parts 65 | --balance fair | --rows 100
            --study history --generate laplace2d:4
            --solution /nonexistent/folder/x.mtx | --solution o.mtx --csv ./o.mtx
            --generate laplace2d:20 --tuning /dev/zero : cg: cannot read /dev/zero:
            --generate laplace2d:20 --tuning /dev/null/table.csv : cg: cannot write /dev/null/table.csv:
            --matrix wide --tuning wide : --tuning would overwrite
            --generate laplace2d:20 --tuning wide --json wide : name the same file
            --study table-4-5 --rows 100 --backend cpu : --study table-4-5: it has none of the chosen variants
            --study table-4-7 --rows 100 --backend cpu : --study table-4-7: it has none of the chosen variants
            --study scaling --rows 100 --backend cpu : --study scaling: it has none of the chosen variants)",
        .files = {{"vast", "%%MatrixMarket matrix coordinate real symmetric\n2147483647 2147483647 0\n"},
                  {"skew", sparse + "2 2 3\n1 1 2\n1 2 1\n2 2 2\n"},
                  {"wide", sparse + "2 3 1\n1 1 2\n"},
                  {"zero", sparse + "2 2 1\n1 1 2\n"},
                  {"three", array + "3 1\n1\n2\n3\n"},
                  {"table", array + "2 2\n1\n2\n3\n4\n"},
                  {"long", sparse + "1 2147483646 1\n1 1 1\n"}, // 16 GiB of numbers
                  {"huge", sparse + "16 1 1\n1 1 1e200\n"}},
        .silent = true,
        .operations = {operation("float"), operation("double")},
        // 4e6 rows with 19,992,000 entries: see memory_need()
        .memory = {{"--generate laplace2d:2000 --type double", 1.25 * (19'992'000 * 12 + 8 * 4e6) + 7 * 8 * 4e6,
                    3 * (19'992'000 * 12 + 8 * 4e6) + 4e6 * (8 * 8 + 4 * 8)}},
        .times_by_clock = true,
        .study = study_of,
        .per_element = "ns_per_row_and_iteration",
        .elements = [](const Json& problem,
                       const Json& v) { return problem["n"].get<double>() * v["iterations"].get<double>(); },
        .growth = {{"--rows 300", 3, wrong_rungs()}}};
});
/// The text of a symmetric 2 x 2 matrix, of the triangle that stands in a file, and of a vector of two numbers.
std::string matrix_of(const std::string& entries) {
    const auto count = std::ranges::count(entries, '\n');
    return fmt::format("%%MatrixMarket matrix coordinate real symmetric\n2 2 {}\n{}", count, entries);
}
std::string vector_of(const std::string& a, const std::string& b) {
    return "%%MatrixMarket matrix array real general\n2 1\n" + a + "\n" + b + "\n";
}

/// Whether a file has a vector of two numbers near 1/11 and 7/11.
bool is_solution(const std::string& path, double tolerance) {
    const auto x = gpulab::read_vector<double>(path);
    return x.size() == 2 && std::abs(x[0] - 1.0 / 11) < tolerance && std::abs(x[1] - 7.0 / 11) < tolerance;
}
} // namespace

TEST_CASE("a system from files is solved, and the solution is written", "[program]") {
    const InFolder here(
        program,
        {{"A", matrix_of("1 1 4\n2 1 1\n2 2 3\n")}, {"b", vector_of("1", "2")}, {"start", vector_of("2", "1")}});
    const Outcome outcome = here.done("--matrix A --rhs b --start start --solution x --history h --tolerance 1e-12 "
                                      "--backend cpu --repeat 1");
    CHECK(is_solution(here.path("x"), 1e-12));
    CHECK(here.text("h").starts_with("variant,iteration,residual\ncpu_sequential on cpu:0,0,8.54"));
    CHECK(has(outcome.out, "converged after 2 iterations"));
}

TEST_CASE("a system with a right-hand side from a file is solved once, unless it is to be measured", "[program]") {
    const InFolder here(program, {{"A", matrix_of("1 1 4\n2 1 1\n2 2 3\n")}, {"b", vector_of("1", "2")}});
    const std::string system = "--matrix A --rhs b --backend cpu ";
    for (const std::string type : {"double", "float"}) {
        const Outcome once = here.done(system + "--solution x --history h --tolerance 1e-6 --type " + type);
        CHECK(once.err == "");
        CHECK(once.out.starts_with("A: 2 x 2, 4 non-zeros\nsolved by cpu_threads on cpu:0 in "));
        CHECK(has(once.out, " ms\nconverged after 2 iterations"));
        CHECK(std::ranges::count(once.out, '\n') == 3);
        CHECK(is_solution(here.path("x"), 1e-6));
        CHECK(here.text("h").starts_with("variant,iteration,residual\ncpu_threads on cpu:0,0,2.236"));
        CHECK(std::ranges::count(here.text("h"), '\n') == 4);
    }
    for (const std::string measuring : {"--repeat 1", "--warmup 0", "--variant cpu_sequential", "--parts 2",
                                        "--flush-l2", "--csv csv", "--json json"}) {
        const Outcome measured = here.done(system + measuring);
        CHECK(has(measured.out, "cpu_sequential"));
        CHECK_FALSE(has(measured.out, "solved by"));
    }
    CHECK(has(here.text("csv"), "cpu_sequential"));
    CHECK(has(here.text("json"), "cpu_sequential"));
    const Outcome traced = here(system + "--trace trace"); // two iterations are too few
    CHECK(traced.exit_code == 2);
    CHECK(has(traced.err, "trace: not written"));
    // Not converged: x is written, and the exit code says so.
    const Outcome early = here(system + "--solution early --limit 1");
    CHECK(early.exit_code == 1);
    CHECK(has(early.err, "cpu_threads on cpu:0: "));
    CHECK(gpulab::read_vector<double>(here.path("early")).size() == 2);
    // Not positive definite.
    here.write("A", matrix_of("1 1 1\n2 1 5\n2 2 1\n"));
    const Outcome indefinite = here(system);
    CHECK(indefinite.exit_code == 2);
    CHECK(has(indefinite.err, "not positive definite"));
}

namespace {
/// Solves the system of a matrix file and a right-hand side of random numbers with the program, and judges what it
/// writes.
/// @param expected what the file holds @param arguments which variants run
template <class T>
void check_solution(const std::string& file, const gpulab::Csr<T>& expected, const std::string& arguments) {
    const auto read = gpulab::read_matrix_market<T>(file);
    REQUIRE(read == expected); // to the last bit
    const auto c = system<T>(file, read, settings(1e-5, 5000, true));
    const Problem<T>& p = c.problem;
    const InFolder here(program, {{"b", gpulab::array_text(p.b)}});
    const Outcome outcome = here(fmt::format("--matrix {} --rhs b --solution x --json json --type {} --tolerance 1e-5 "
                                             "--limit 5000 --preconditioner jacobi --repeat 1 {}",
                                             file, sizeof(T) == 8 ? "double" : "float", arguments));
    INFO(file << '\n' << outcome.out << outcome.err);
    REQUIRE(ran(outcome));
    const auto run = here.json("json");
    CHECK(gpulab::testing::run_fault(run, "cpu_sequential", wrong_rungs()) == "");
    Output<T> out;
    out.x = gpulab::read_vector<T>(here.path("x"));
    REQUIRE(out.x.size() == p.n());
    out.history.push_back(p.stop_at / 1e-5); // the start is zero: the norm of b
    for (const auto& v : run["variants"])    // the variants may differ by an iteration
        if (v["status"] == "passed" && v["iterations"] >= out.history.size())
            out.history.resize(v["iterations"].template get<std::size_t>() + 1);
    CHECK(out.iterations() > 1);
    CHECK(true_residual(p, out.x) <= p.stop_at + residual_gap(p, out));
}
} // namespace

TEST_CASE("a file that the program writes of each generator's matrix is read back to the last bit, and solved",
          "[program][thorough]") {
    const auto check = []<class T>(T) {
        for (const std::string matrix :
             {"stiffness:200", "laplace2d:17x12", "laplace3d:5x6x7", "springs:7x5", "springs:3x4x3"}) {
            const InFolder here(program);
            here.done(fmt::format("--generate {} --type {} --seed {} --backend cpu --repeat 1 --limit 1 --tolerance 0 "
                                  "--write A",
                                  matrix, sizeof(T) == 8 ? "double" : "float", gpulab::testing::seed));
            check_solution(here.path("A"), gpulab::generate_matrix<T>(matrix, gpulab::testing::seed), "--backend cpu");
        }
    };
    check(double{});
    check(float{});
}

TEST_CASE("the generators make the matrices that they always made, and all variants solve them",
          "[program][thorough]") {
    const InFolder here(program);
    for (const auto& [matrix, checksum] : {std::pair{"stiffness:24", 0x8D834E1Eu}, // CRC-32 of the file
                                           {"laplace2d:6x5", 0x431DB3AAu},
                                           {"laplace3d:4x3x3", 0xFFC5600Eu},
                                           {"springs:4x4", 0x433209BDu}}) {
        here.done(fmt::format("--generate {} --backend cpu --repeat 1 --write A", matrix));
        const std::string text = here.text("A");
        INFO(matrix);
        CHECK(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())) == checksum);
        check_solution(here.path("A"), gpulab::generate_matrix<double>(matrix, 42), ""); // the program's own seed
    }
}

TEST_CASE("the solution is written as soon as a variant has found it, before the others run", "[program][thorough]") {
    const InFolder here(program);
    here.done("--generate laplace2d:100 --variant cpu_sequential,cpu_threads --repeat 3 --solution x --json json");
    CHECK(gpulab::read_vector<double>(here.path("x")).size() == 10'000);
    // The JSON file is written after all variants.
    CHECK(std::filesystem::last_write_time(here.path("x")) < std::filesystem::last_write_time(here.path("json")));
    // What goes to stdout has it to itself.
    const Outcome shown = here("--generate laplace2d:4 --backend cpu --repeat 1 --solution /dev/stdout");
    CHECK(shown.out.starts_with("%%MatrixMarket matrix array real general\n16 1\n"));
    CHECK(shown.out.find("%%MatrixMarket") == shown.out.rfind("%%MatrixMarket"));
    const auto all = variants<double>();
    const auto on_cpu = std::ranges::count(all, gpulab::Backend::cpu, &gpulab::Variant<Run<double>>::backend);
    CHECK(has(shown.err, fmt::format("{} right", on_cpu)));
}

TEST_CASE("a solution that is recorded for the times of its kernels does not count in the total time", "[program]") {
    const auto c = generated<double>("laplace2d:9", settings(0, 2));
    for (const auto& v : variants<double>()) {
        const auto& devices = gpulab::devices(v.backend);
        auto needs = v.needs;
        needs.gpu = needs.gpu || v.baseline; // the emulator runs no libraries
        if (!v.run || devices.empty() || !gpulab::unmet_need(needs, devices.front()).empty()) continue;
        gpulab::use(devices.front());
        Output<double> out;
        out.x.resize(c.problem.n());
        Stopwatch once;
        in_turn([&] { v.run(c.problem, out, once); });
        INFO(v.name);
        CHECK((once.left_out_ms() > 0 || out.kernel_ms.empty()));
    }
}

TEST_CASE("without convergence the exit code is 1, with the numbers, and the best x is written", "[program]") {
    const InFolder here(program);
    const std::string arguments = "--generate laplace2d:20 --limit 5 --backend cpu --repeat 1 ";
    const Outcome outcome = here(arguments + "--solution x");
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, "not converged within 5 iterations: residual "));
    CHECK_FALSE(has(outcome.err, "rounding")); // the limit is the reason
    CHECK(gpulab::read_vector<double>(here.path("x")).size() == 400);
    CHECK(here(arguments + "--tolerance 0").exit_code == 0);
}

TEST_CASE("a solution that rounding has eaten ends with exit code 1, though the iteration converges", "[program]") {
    const InFolder here(program, {{"A", matrix_of("1 1 2\n2 2 2\n")},
                                  {"far", vector_of("1e20", "-1e20")},
                                  {"near", vector_of("1e12", "-1e12")}}); // a solution, though not so good
    const std::string arguments = "--backend cpu --repeat 1 --matrix A --start ";
    Outcome outcome = here(arguments + "far");
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, "converged after 1 iterations: residual 0, wanted "));
    CHECK(has(outcome.err, ", which rounding keeps above what is wanted\n"));
    outcome = here(arguments + "near");
    CHECK(outcome.exit_code == 0);
    CHECK(has(outcome.out, ", which rounding keeps above what is wanted\n"));
}

TEST_CASE("a matrix that is not positive definite ends with exit code 2, p.Ap and the best x", "[program]") {
    const InFolder here(program, {{"A", matrix_of("1 1 1\n2 2 -0.5\n")}, {"b", vector_of("1", "1")}});
    const Outcome outcome = here("--matrix A --rhs b --repeat 1 --solution x --history h");
    CHECK(outcome.exit_code == 2);
    CHECK(here.text("h").starts_with("variant,iteration,residual\ncpu_sequential on cpu:0,0,1.414"));
    CHECK(has(outcome.err, "A: the matrix is not positive definite: p.Ap = -"));
    CHECK(gpulab::read_vector<double>(here.path("x")).size() == 2);
}

TEST_CASE("without convergence the x of the smallest residual is written, not the last one", "[program]") {
    // The residuals of springs rise and fall. Solve to the first iteration that ends far above an earlier one.
    const auto c = generated<double>("springs:6x6", settings(1e-9, 1000));
    const Output<double> all = solved(c.problem);
    std::size_t limit = 1, best = 0;
    while (limit < all.iterations() && all.history[limit] < 1.5 * all.history[best]) {
        if (all.history[limit] < all.history[best]) best = limit;
        ++limit;
    }
    REQUIRE(limit < all.iterations());
    REQUIRE(best > 0);
    const InFolder here(program, {{"b", gpulab::array_text(c.problem.b)}});
    const Outcome outcome = here(fmt::format(
        "--generate springs:6x6 --seed {} --rhs b --tolerance 1e-9 --limit {} --variant cpu_threads --repeat 1 "
        "--solution x",
        gpulab::testing::seed, limit));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, fmt::format("x has x after iteration {}\n", best)));
    const double residual = true_residual(c.problem, gpulab::read_vector<double>(here.path("x")));
    CHECK(std::abs(residual - all.history[best]) < 1e-9 * all.history[best]);
}

TEST_CASE("a number that becomes infinite ends with exit code 2, and x is written without it", "[program]") {
    const InFolder here(program,
                        {{"A", overflowing_matrix}, {"b", vector_of("1", "1")}, {"start", vector_of("3", "4")}});
    const Outcome outcome = here("--matrix A --rhs b --start start --repeat 1 --solution x --history h");
    CHECK(outcome.exit_code == 2);
    CHECK(here.text("h").starts_with("variant,iteration,residual\ncpu_sequential on cpu:0,0,1.414"));
    CHECK(has(outcome.err, "a number became infinite or NaN in iteration "));
    CHECK(has(outcome.err, "x has x after iteration 0\n"));
    CHECK(gpulab::read_vector<double>(here.path("x")) == std::vector<double>{3, 4});
}

TEST_CASE("a residual that is rounding only, above what is wanted, ends with exit code 1", "[program]") {
    const InFolder here(program, {{"A", exhausting_matrix()}});
    const std::string arguments = "--matrix A --backend cpu --repeat 1 --tolerance ";
    const Outcome outcome = here(arguments + "1e-300");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, " iterations the residual is rounding only: "));
    CHECK(here(arguments + "1e-10").exit_code == 0);
}

namespace {
/// The trace of one iteration has these commands, and a lane for the kernels and one for the copies of each part. Each
/// part updates x once. Three iterations are enough.
/// @param copies whether there are any
void check_trace(const std::string& variant, const std::vector<std::string>& commands, std::size_t parts = 3,
                 bool copies = true) {
    const InFolder here(program);
    here.done("--generate laplace2d:40 --parts 3 --repeat 1 --limit 3 --tolerance 0 --trace trace --variant " +
              variant);
    std::map<std::string, std::size_t> names;
    std::set<std::string> lanes;
    const Json written = here.json("trace");
    for (const auto& event : written["traceEvents"]) {
        if (event["name"] == "thread_name")
            CHECK(event["args"]["name"].get<std::string>().starts_with(variant.starts_with("opencl_") ? "queue "
                                                                                                      : "stream "));
        if (event["ph"] != "X") continue;
        const std::string name = event["name"].get<std::string>(); // "spmv: kernel"
        ++names[name.substr(0, name.find(':'))];
        lanes.insert(event["tid"].dump());
        CHECK(event["dur"] >= 0);
    }
    for (const std::string& name : commands) {
        INFO(name);
        CHECK(names.contains(name));
    }
    CHECK(names["next_x"] + names["next x and p"] == parts);
    CHECK(lanes.size() >= (copies ? 2 : 1) * parts);
}

/// Skips the running test case where there is no GPU. The program is a process of its own that hardly uses one: no
/// other test waits for it.
void gpu_or_skip() {
    (void)gpulab::testing::devices_or_skip(gpulab::Backend::cuda);
    gpulab::testing::leave_turns();
}
} // namespace

TEST_CASE("one iteration of several devices is written as a trace, copies and kernels of every device", "[program]") {
    const auto& devices = gpulab::testing::devices_or_skip(gpulab::Backend::opencl);
    gpulab::testing::leave_turns();
    check_trace("opencl_devices_halo",
                {"inner rows", "border rows", "dot", "next_x", "next_r", "next_p", "pack", "halo up", "halo down"});
    check_trace("opencl_devices_whole", {"spmv", "dot", "next_x", "next_r", "next_p", "p up", "p down"});
    check_trace("opencl_tuned --device " + devices.front().id(), // on one device only
                {"spmv", "dot", "next_x", "next_r", "next_p", "sums down"}, 1);
}

TEST_CASE("one iteration of several parts on GPUs is written as a trace, copies and kernels of every part",
          "[program][cuda]") {
    gpu_or_skip();
    check_trace("cuda_devices", {"collect", "inner rows", "border rows", "residual", "next x and p", "halo", "sum"});
    check_trace("cuda_devices_stores", {"product", "residual", "next x and p"}, 3, false); // kernels store the halo
}

TEST_CASE("table-4-6 has the time of each kernel of the rungs for several GPUs", "[program][thorough][cuda]") {
    gpu_or_skip();
    std::set<std::string> found;
    for (const auto& run : program.results("--study table-4-6 --rows 40000 --repeat 1 --backend cuda"))
        for (const auto& v : run["variants"]) {
            INFO(v.dump());
            found.insert(v["name"].get<std::string>());
            for (const char* const kernel : {"ms_spmv", "ms_next_r", "ms_next_x"}) CHECK(v[kernel] > 0);
            CHECK(v.contains("ms_pack") == (v["name"] == "cuda_devices")); // stores need no kernel for the halo
            CHECK(v["ms_overhead"] >= 0);
        }
    CHECK(found == std::set<std::string>{"cuda_devices", "cuda_devices_stores"});
}

TEST_CASE("when a file cannot be written, the others are, and the exit code is 2", "[program][thorough]") {
    if (!std::filesystem::exists("/dev/full")) SKIP("there is no /dev/full");
    const std::vector<std::string> options = {"--json", "--history", "--solution"};
    for (const std::string full : {"--json", "--trace"}) {
        const bool trace = full == "--trace";
        if (trace && gpulab::devices(gpulab::Backend::opencl).empty()) continue;
        const InFolder here(program);
        std::string arguments = fmt::format("--generate laplace2d:4 --repeat 1 {} /dev/full --variant {}", full,
                                            trace ? "opencl_devices_halo" : "cpu_sequential");
        for (const std::string& option : options)
            if (option != full) arguments += fmt::format(" {} {}", option, option.substr(2));
        const Outcome outcome = here(arguments);
        INFO(arguments << '\n' << outcome.out << outcome.err);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.err.starts_with("cg: cannot write /dev/full: "));
        CHECK(std::ranges::count(outcome.err, '\n') == 1);
        CHECK(has(outcome.out, "converged after "));
        for (const std::string& option : options) CHECK((option == full || !here.text(option.substr(2)).empty()));
    }
    // A matrix, which is written first, and a solution that is written while the table is printed.
    const InFolder limited(gpulab::testing::Program("cg", "/bin/sh"));
    const Outcome outcome =
        limited("-c 'ulimit -f 64; exec \"" CG_PROGRAM "\" --generate laplace2d:60 --variant cpu_sequential --repeat 1 "
                "--write A --solution x --history h --json j'");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK_FALSE(limited.has("A"));
    CHECK_FALSE(limited.has("x"));
    CHECK_FALSE(limited.text("h").empty());
    CHECK_FALSE(limited.text("j").empty());
    CHECK(has(outcome.err, "cg: cannot write A"));
    CHECK(has(outcome.err, "cg: cannot write x"));
}

TEST_CASE("with --flush-l2, the rungs for several GPUs are skipped, and refused by name", "[program][cuda]") {
    gpu_or_skip();
    std::size_t skipped = 0;
    const Json run = program.results("--generate laplace2d:4 --repeat 1 --flush-l2 --backend cuda");
    for (const auto& v : run["variants"]) {
        INFO(v.dump());
        const bool by_option = v["status"] == "skipped" && v["reason"].get<std::string>().starts_with("--flush-l2: ");
        CHECK(by_option == (v["name"] == "cuda_devices" || v["name"] == "cuda_devices_stores"));
        skipped += by_option;
    }
    CHECK(skipped == 2);
    CHECK(program.refusal_fault("--flush-l2 --variant cuda_devices") == "");
}

TEST_CASE("a trace without a command is not written, and the exit code says so", "[program]") {
    const InFolder here(program);
    const Outcome outcome = here("--generate laplace2d:4 --backend cpu --repeat 1 --trace trace --solution x");
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err == "cg: trace: not written, because no variant that can record a trace made three iterations\n");
    CHECK_FALSE(here.has("trace"));
    CHECK(gpulab::read_vector<double>(here.path("x")).size() == 16);
}

TEST_CASE("group counts are kept in the file of --tuning, and rows are shared out by speed", "[program]") {
    (void)gpulab::testing::devices_or_skip(gpulab::Backend::opencl);
    const InFolder here(program);
    const std::string arguments = "--generate laplace2d:20 --repeat 1 ",
                      both = arguments + "--variant opencl_tuned,opencl_devices_halo --balance speed --tuning table";
    Outcome outcome = here.done(both);
    INFO(outcome.out << outcome.err);
    CHECK(has(outcome.out, "groups per compute unit"));
    CHECK(has(outcome.out, "rows by measured speed:"));
    const std::string kept = here.text("table");
    CHECK(kept.starts_with("device,kernel,type,rows,groups,one_ms,best_ms\n"));
    // Parts of one device have equally many units of the same clock, so about equally many rows.
    outcome = here.done(arguments + "--variant opencl_devices_halo --parts 2 --balance units --device opencl:0");
    CHECK(has(outcome.out, "rows by compute units times clock rate: 200 200"));
    here.done(arguments + "--variant opencl_tuned --tuning table");
    CHECK(here.text("table") == kept); // nothing is tried again
    here.write("table", "no table\n");
    CHECK(here(both).exit_code != 0);
}

TEST_CASE("rungs for several GPUs say how they share the rows out by speed, and are right", "[program][cuda]") {
    gpu_or_skip();
    for (const char* rung : {"cuda_devices", "cuda_devices_stores"})
        for (const auto& [system, parts] : {std::pair("laplace2d:20", 3), std::pair("laplace2d:1", 4)}) {
            // All parts on one GPU: several may have no access to each other's memory. Parts without a row are not
            // measured.
            const Outcome outcome = program.done(
                fmt::format("--generate {} --parts {} --repeat 1 --balance speed --device cuda:0 --variant {}", system,
                            parts, rung));
            const std::string message = "rows by measured speed:";
            const std::size_t at = outcome.out.find(message);
            REQUIRE(at != std::string::npos);
            const std::size_t begin = at + message.size();
            std::istringstream numbers(outcome.out.substr(begin, outcome.out.find('\n', begin) - begin));
            CHECK(std::distance(std::istream_iterator<std::size_t>(numbers), {}) == parts);
        }
}

TEST_CASE("the tables for float and double have the same names", "[program]") {
    CHECK(names_of(variants<float>()) == names_of(variants<double>()));
}

TEST_CASE("the bytes of a kernel are those of what it reads and writes", "[program]") {
    const auto c = generated<double>("laplace2d:10", settings(0, 20));
    const double vector = 100 * 8;                            // bytes
    CHECK(kernel_work(c.problem, "dot").bytes == 2 * vector); // p . q
    CHECK(kernel_work(c.problem, "next_p").bytes == 3 * vector);
    // 20 iterations: r . r 21 times, p . q 20 times.
    KernelRuns dot = kernel_runs(c.problem, "dot", 20);
    CHECK(dot.count == 41);
    CHECK(std::abs(dot.count * dot.mean.bytes - (21 + 2 * 20) * vector) < 1e-6);
    CHECK(kernel_runs(c.problem, "spmv", 20).count == 21);
    CHECK(kernel_runs(c.problem, "next_x", 20).count == 20);
    // With Jacobi r . z besides, 21 times: it reads r and 1 / a_ii, which next_p reads, too.
    const auto jacobi = generated<double>("laplace2d:10", settings(0, 20, true));
    dot = kernel_runs(jacobi.problem, "dot", 20);
    CHECK(dot.count == 62);
    CHECK(std::abs(dot.count * dot.mean.bytes - (21 + 2 * 20 + 2 * 21) * vector) < 1e-6);
    CHECK(kernel_work(jacobi.problem, "next_p").bytes == 4 * vector);
}

TEST_CASE("the bytes and operations of an iteration are those of fused kernels", "[program]") {
    const auto check = [](const auto& plain, const auto& jacobi, double entry, double number) {
        // 100 rows with 460 entries; ten vectors, with Jacobi twelve
        CHECK(work(plain.problem, 7).bytes == 7 * (460 * entry + 100 * 4 + 10 * 100 * number));
        CHECK(work(jacobi.problem, 7).bytes == 7 * (460 * entry + 100 * 4 + 12 * 100 * number));
        CHECK(work(plain.problem, 7).flops == 7 * (2 * 460 + 10 * 100));
        CHECK(work(jacobi.problem, 7).flops == 7 * (2 * 460 + 14 * 100));
    };
    check(generated<double>("laplace2d:10", settings(0, 20)), generated<double>("laplace2d:10", settings(0, 20, true)),
          12, 8);
    check(generated<float>("laplace2d:10", settings(0, 20)), generated<float>("laplace2d:10", settings(0, 20, true)), 8,
          4);
}

TEST_CASE("table-4-4 and table-4-7 count the bytes that a dot product reads, and their figures fit",
          "[program][thorough]") {
    (void)gpulab::testing::devices_or_skip(gpulab::Backend::opencl);
    for (const auto& [study, kernel, vectors] :
         {std::tuple{"table-4-4", "dot", 2.0}, {"table-4-7", "opencl_five_kernels:dot", 301.0 / 201}}) {
        std::size_t found = 0;
        std::map<std::string, double> one; // milliseconds with one group per compute unit, by device, kernel and items
        for (const auto& run : program.results(fmt::format("--study {} --rows 400 --repeat 1 --backend opencl", study)))
            for (const auto& v : run["variants"]) {
                if (v["status"] != "passed") continue;
                INFO(v.dump());
                const std::string name = v["name"];
                const double ms = v["kernel_ms"]["median"];
                if (study == std::string("table-4-4")) {
                    const std::string items = run["problem"]["items"].dump();
                    const auto& [key, one_ms] =
                        *one.try_emplace(v["device"].get<std::string>() + name + items, ms).first;
                    CHECK(run["problem"]["groups"] >= 1);
                    CHECK(std::abs(v["saved_percent"].get<double>() - 100 * (one_ms - ms) / one_ms) < 1e-6);
                } else { // a mean over the runs of a solution
                    CHECK(v["runs"] == (name.ends_with(":dot") ? 201 : name.ends_with(":next_x") ? 100 : 101));
                    CHECK(is_near(ms * v["runs"].get<double>(), v["ms_runs"]));
                }
                if (name != kernel) continue;
                ++found;
                CHECK(std::abs(v["bytes"].get<double>() - vectors * 400 * 8) < 1e-6);
            }
        CHECK(found > 0);
    }
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("opencl_tuned has the largest groups that device and kernels allow", "[program]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(gpulab::Backend::opencl)) {
        gpulab::use(device);
        const auto system = generated<float>("laplace2d:40", settings(0, 1));
        Output<float> out;
        out.x.resize(system.problem.n());
        gpulab::Stopwatch once;
        gpulab::testing::in_turn([&] { gpulab::run_of(variants<float>(), "opencl_tuned")(system.problem, out, once); });
        CHECK(once.tiles().front().size == group_sizes(system.problem).back());
    }
}

TEST_CASE("table-4-4 tries the largest groups that a device allows, and says where the search begins",
          "[program][thorough]") {
    (void)gpulab::testing::devices_or_skip(gpulab::Backend::opencl);
    const gpulab::Device device = gpulab::devices(gpulab::Backend::opencl).front();
    gpulab::use(device);
    const auto system = generated<float>("laplace2d:40", settings(0, 1)); // 1600 rows
    const std::vector<std::size_t> sizes = group_sizes(system.problem);
    REQUIRE((sizes.size() == 1 || sizes.size() == 2));
    CHECK(sizes.front() <= 256);
    CHECK((sizes.size() == 1 || (sizes.back() > 256 && sizes.back() <= 2048))); // no more items than rows need
    Outcome outcome;
    const Json runs = program.results("--study table-4-4 --rows 1600 --type float --device " + device.id(), &outcome);
    CHECK(
        has(in_one_line(outcome.out),
            fmt::format("groups of at most {} work-items, {} compute units, {} work-items to begin with", sizes.back(),
                        device.compute_units, sizes.back() * static_cast<std::size_t>(device.compute_units))));
    std::vector<std::size_t> tried;
    for (const auto& run : runs)
        if (run["problem"]["groups"] == 1) tried.push_back(run["problem"]["items"]);
    CHECK(tried == sizes);
}
#endif

TEST_CASE("the tables of kernel times have all kernels and the overhead, in 80 columns", "[program][thorough]") {
    (void)gpulab::testing::devices_or_skip(gpulab::Backend::opencl);
    for (const auto& [study, variant] : {std::pair("--study table-4-5 --rows 400", "opencl_five_kernels "),
                                         {"--study table-4-6 --rows 400", "opencl_devices_halo "},
                                         {"--generate laplace2d:20", "opencl_tuned "}}) {
        Outcome outcome;
        const Json file = program.results(fmt::format("{} --repeat 1 --backend opencl", study), &outcome);
        std::istringstream lines(outcome.out);
        std::vector<std::string> heading, row; // their words
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with("variant ") && !(row.empty() && line.starts_with(variant))) continue;
            CHECK(line.size() <= 80);
            std::istringstream words(line);
            (line.starts_with("variant ") ? heading : row)
                .assign(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
        }
        CHECK(heading == std::vector<std::string>{"variant", "device", "all", "spmv", "dot", "next_x", "next_r",
                                                  "next_p", "pack", "rest"});
        REQUIRE(row.size() == heading.size());
        const auto& v = (file.is_array() ? file[0] : file)["variants"];
        const auto first = std::find_if(v.begin(), v.end(), [&](const auto& one) {
            return one["name"].template get<std::string>() + " " == variant;
        });
        REQUIRE(first != v.end());
        for (const auto& one : v) {
            INFO(one.dump());
            if (one["status"] == "passed") CHECK(derived_fault(one) == "");
        }
        const auto matches = [&](std::size_t column, double ms) { // the cell has at least one decimal below 100
            CHECK(std::abs(std::stod(row[column]) - ms) <= (ms < 9.995 ? 0.0051 : ms < 99.95 ? 0.051 : 0.51));
        };
        matches(2, (*first)["kernel_ms"]["median"]);
        for (const std::size_t column : {3, 4, 5, 6, 7}) matches(column, (*first)["ms_" + heading[column]]);
        if (variant == std::string("opencl_devices_halo ")) matches(8, (*first)["ms_pack"]);
        else CHECK(row[8] == "-");
        matches(9, (*first)["ms_overhead"]);
    }
}

TEST_CASE("the model of the study scaling: the time on one device shared out, and what two cost besides", "[program]") {
    ScalingModel model = scaling_model(100, 60, 112); // 10 more than half of 100, and 12 more than 100
    CHECK(model.c == 11);
    CHECK(is_near(model.speed_up(1), 100.0 / 111));
    CHECK(is_near(model.speed_up(4), 100.0 / 36));
    CHECK(is_near(model.speed_up(4, 14), 100.0 / 50));
    model = scaling_model(100, 45, 90); // faster than it could be
    CHECK(model.c == 0);
    CHECK(model.speed_up(8) == 8);
}

TEST_CASE("the assumed network: a halo, and for both sums a message for each doubling of the computers", "[program]") {
    const Network network{.us_per_message = 3, .gb_per_s = 20};
    CHECK(network.us(1, 1e6) == 0);
    CHECK(is_near(network.us(2, 40'000), 3 + 2 + 2 * 3));
    CHECK(is_near(network.us(4, 0), 3 + 2 * 3 * 2));
    CHECK(is_near(network.us(5, 0), 3 + 2 * 3 * 3));
    CHECK(is_near(network.us(8, 0), 3 + 2 * 3 * 3));
}

TEST_CASE("the text of the study scaling follows from the times in its file", "[program][thorough]") {
    (void)gpulab::testing::devices_or_skip(gpulab::Backend::opencl);
    Outcome outcome;
    const Json runs = program.results("--study scaling --rows 400 --repeat 1 --backend opencl", &outcome);
    std::map<std::string, double> us; // by "strong 2"
    for (const auto& run : runs)
        for (const auto& v : run["variants"]) {
            REQUIRE(v["name"] == "opencl_devices_halo");
            us[fmt::format("{} {}", run["problem"]["scaling"].get<std::string>(), run["problem"]["parts"].dump())] =
                1000 * v["kernel_ms"]["median"].get<double>() / 50;
            CHECK(derived_fault(v) == "");
        }
    REQUIRE(us.size() == 4);
    const double one = us["strong 1"], two = us["strong 2"], wide = us["weak 2"];
    const double c = std::max(0.0, (two - one / 2 + wide - one) / 2);
    const double halo = 20 * sizeof(double) / 50e3; // microseconds for a grid line of 20
    const std::string text = in_one_line(outcome.out);
    std::smatch found;
    const std::regex pattern(
        R"(opencl_devices_halo, measured: (\S+) us on one part, (\S+) us on two \((\S+) times as fast\), (\S+) us on two )"
        R"(with twice the rows\. Model t\(P\) = t\(1\)/P \+ c with c = (\S+) us; it gives (\S+) times on 4, (\S+) times on 8, )"
        R"(and with computers of 8 devices and a network of 50 GB/s and 5 us per message, (\S+) times on 2 computers, )"
        R"((\S+) times on 4 computers, (\S+) times on 8 computers\. A model, not a measurement: .* the network is assumed\.)");
    REQUIRE(std::regex_search(text, found, pattern));
    std::size_t number = 0;
    for (const auto& [value, half_digit] : {std::pair{one, 0.5},
                                            {two, 0.5},
                                            {one / two, 0.005},
                                            {wide, 0.5},
                                            {c, 0.5},
                                            {one / (one / 4 + c), 0.05},
                                            {one / (one / 8 + c), 0.05},
                                            {one / (one / 16 + c + 15 + halo), 0.05},
                                            {one / (one / 32 + c + 25 + halo), 0.05},
                                            {one / (one / 64 + c + 35 + halo), 0.05}}) {
        INFO("number " << number + 1 << " of the text: " << found[number + 1] << ", " << value);
        CHECK(std::abs(std::stod(found[++number]) - value) <= 1.001 * half_digit);
    }
}

TEST_CASE("the curves of the study history are residuals relative to that of the start", "[program][thorough]") {
    std::map<std::string, Reference> references; // by matrix and way
    for (const std::string matrix : {"laplace2d:10", "springs:7x7"})
        for (const bool steepest : {false, true})
            for (const bool jacobi : {false, true}) {
                gpulab::Csr<double> a = gpulab::generate_matrix<double>(matrix, 42); // the program's own seed
                std::vector<double> b = gpulab::random_vector<double>(a.rows, 42);
                const auto p = make_problem<double>(std::move(a), std::move(b), {}, settings(0, 12, jacobi, steepest));
                references[matrix + (steepest ? "cpu_steepest" : "cpu_cg") + (jacobi ? "_jacobi" : "")] =
                    make_reference(p);
            }
    std::size_t points = 0;
    for (const auto& run : program.results("--study history --rows 100 --tolerance 0 --limit 12 --repeat 1")) {
        const std::size_t k = run["problem"]["iteration"];
        if (k == 0) continue; // the ways, not their curves
        for (const auto& v : run["variants"]) {
            INFO(run["problem"].dump() << v.dump());
            const Reference& reference =
                references.at(run["problem"]["matrix"].get<std::string>() + v["name"].get<std::string>());
            const double start = reference.history[0];
            REQUIRE(std::abs(start - 1) > 0.1);
            CHECK(std::abs(v["residual"].get<double>() - reference.history[k] / start) <=
                  2 * reference.allowed[k] / start); // both norms are rounded
            ++points;
        }
    }
    CHECK(points == 2 * 4 * 10); // iterations 1 to 8, 10 and 12
}

TEST_CASE("the default size of the study history suits a CPU", "[program]") {
    const std::string runs = program.results("--study history --limit 2 --repeat 1").dump();
    CHECK(has(runs, "laplace2d:50\""));
    CHECK(has(runs, "springs:35x35\""));
}
