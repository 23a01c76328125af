// The program as a user meets it: its options, its files, its exit codes; and the hand-out against the variant table.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "checks.hpp"
#include "files.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab_testing/hand_out.hpp"
#include "gpulab_testing/program.hpp"
#include "studies.hpp"

using gpulab::testing::names_of;
using gpulab::testing::Outcome;
using gpulab::testing::ScratchFile;
using Words = std::set<std::string>;

namespace {
const gpulab::testing::Program program("cg", CG_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
gpulab::testing::KnownWrong wrong_rungs() {
    return gpulab::testing::known_wrong(cg::variants<double>(), [](cg::Run<double>* run) {
        return cg::testing::first_fault<double>(run, cg::testing::all_systems<double>());
    });
}

/// Whether the program ended well, or with 1: a variant is wrong, which its own test says.
bool ran(const Outcome& outcome) { return outcome.exit_code == 0 || outcome.exit_code == 1; }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
} // namespace

TEST_CASE("the README's ladder is the variant table") {
    CHECK(gpulab::testing::variants_in_ladder(CG_README) == names_of(cg::variants<double>()));
    CHECK(names_of(cg::variants<float>()) == names_of(cg::variants<double>()));
}

TEST_CASE("the README names every study") {
    CHECK(gpulab::testing::absent_from(CG_README, gpulab::testing::names_of_studies(cg::study_list())) == Words{});
}

TEST_CASE("the program lists every variant (--list), study (--study list) and option (--help) and exits 0") {
    CHECK(program.missing("--list", names_of(cg::variants<double>())) == Words{});
    CHECK(program.missing("--study list", gpulab::testing::names_of_studies(cg::study_list())) == Words{});
    CHECK(program.missing("--help", {"--matrix", "--generate", "--rhs", "--start", "--solution", "--history", "--trace",
                                     "--write", "--tolerance", "--criterion", "--limit", "--method", "--preconditioner",
                                     "--type", "--parts", "--balance", "--tuning", "--rows"}) == Words{});
}

TEST_CASE("bad input is one line on stderr, exit code 2 and no file") {
    const ScratchFile skew, wide, zero, three, table;
    skew.write("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 1\n2 2 2\n");
    wide.write("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 2\n");
    zero.write("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 2\n");
    three.write("%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    table.write("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
    for (const std::string& arguments : {std::string("--generate nothing"),
                                         std::string("--generate laplace2d:0"),
                                         std::string("--generate springs:3"),
                                         std::string("--generate lecture"),
                                         "--matrix " + skew.path(),
                                         "--matrix " + wide.path(),
                                         "--matrix " + zero.path() + " --preconditioner jacobi",
                                         "--generate laplace2d:4 --rhs " + three.path(),
                                         "--generate laplace2d:4 --start " + three.path(),
                                         "--generate laplace2d:2 --rhs " + table.path(),
                                         std::string("--matrix /nonexistent.mtx"),
                                         std::string("--rhs /nonexistent.mtx"),
                                         std::string("--matrix ''"),
                                         "--generate laplace2d:4 --matrix " + skew.path(),
                                         std::string("--tolerance -1"),
                                         std::string("--tolerance nan"),
                                         std::string("--limit 0"),
                                         std::string("--method newton"),
                                         std::string("--preconditioner ilu"),
                                         std::string("--criterion any"),
                                         std::string("--type half"),
                                         std::string("--parts 0"),
                                         std::string("--parts 65"),
                                         std::string("--balance fair"),
                                         std::string("--rows 100"),
                                         std::string("--study nothing"),
                                         std::string("--study history --generate laplace2d:4"),
                                         std::string("--solution /nonexistent/folder/x.mtx"),
                                         std::string("--solution o.mtx --csv ./o.mtx"),
                                         "--matrix " + zero.path() + " --solution " + zero.path(),
                                         std::string("--generate laplace2d:40000"),
                                         std::string("--variant cuda_nothing"),
                                         std::string("stray")}) {
        INFO(arguments);
        CHECK(program.refusal_fault(arguments) == "");
    }
    CHECK(program("--matrix " + skew.path()).err ==
          "cg: " + skew.path() + " is not symmetric: element (1, 2) is 1, element (2, 1) is 0\n");
}

TEST_CASE("a system from files is solved, and the solution is written") {
    const ScratchFile matrix, rhs, start, solution, history;
    matrix.write("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n"); // the lower triangle
    rhs.write("%%MatrixMarket matrix array real general\n2 1\n1\n2\n");
    start.write("%%MatrixMarket matrix array real general\n2 1\n2\n1\n");
    const Outcome outcome =
        program("--matrix " + matrix.path() + " --rhs " + rhs.path() + " --start " + start.path() + " --solution " +
                solution.path() + " --history " + history.path() + " --tolerance 1e-12 --backend cpu --repeat 1");
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.exit_code == 0);
    const auto x = cg::read_vector<double>(solution.path());
    REQUIRE(x.size() == 2);
    CHECK(std::abs(x[0] - 1.0 / 11) < 1e-12);
    CHECK(std::abs(x[1] - 7.0 / 11) < 1e-12);
    CHECK(history.text().starts_with("variant,iteration,residual\ncpu_sequential on cpu:0,0,8.54"));
    CHECK(has(outcome.out, "converged after 2 iterations"));
}

TEST_CASE("without convergence the exit code is 1, with the numbers, and the best x is written") {
    const ScratchFile solution;
    const Outcome outcome =
        program("--generate laplace2d:20 --limit 5 --backend cpu --repeat 1 --solution " + solution.path());
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, "not converged within 5 iterations: residual "));
    CHECK(cg::read_vector<double>(solution.path()).size() == 400);
    CHECK(program("--generate laplace2d:20 --limit 5 --tolerance 0 --backend cpu --repeat 1").exit_code == 0);
}

TEST_CASE("a solution that rounding has eaten ends with exit code 1, though the iteration converges") {
    const ScratchFile matrix, start;
    matrix.write("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 2\n2 2 2\n");
    start.write("%%MatrixMarket matrix array real general\n2 1\n1e20\n-1e20\n");
    const std::string arguments = "--backend cpu --repeat 1 --matrix " + matrix.path() + " --start ";
    Outcome outcome = program(arguments + start.path());
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, "converged after 1 iterations: residual 0, wanted "));
    CHECK(has(outcome.err, ", which rounding keeps above what is wanted\n"));
    start.write("%%MatrixMarket matrix array real general\n2 1\n1e12\n-1e12\n"); // a solution, though not so good
    outcome = program(arguments + start.path());
    CHECK(outcome.exit_code == 0);
    CHECK(has(outcome.out, ", which rounding keeps above what is wanted\n"));
}

TEST_CASE("a matrix that is not positive definite ends with exit code 2, p.Ap and the best x") {
    const ScratchFile matrix, rhs, solution;
    matrix.write("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 -0.5\n");
    rhs.write("%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
    const Outcome outcome =
        program("--matrix " + matrix.path() + " --rhs " + rhs.path() + " --repeat 1 --solution " + solution.path());
    CHECK(outcome.exit_code == 2);
    CHECK(has(outcome.err, matrix.path() + ": the matrix is not positive definite: p.Ap = -"));
    CHECK(cg::read_vector<double>(solution.path()).size() == 2);
}

TEST_CASE("all variants solve a system, and the JSON file describes it") {
    const ScratchFile json, mtx;
    for (const std::string type : {"float", "double"}) {
        INFO(type);
        REQUIRE(ran(program("--generate springs:6x5 --preconditioner jacobi --tolerance 1e-4 --repeat 2 --json " +
                            json.path() + " --write " + mtx.path() + " --type " + type)));
        const auto run = json.json();
        CHECK(run["lab"] == "cg");
        CHECK(run["problem"]["matrix"] == "springs:6x5");
        CHECK(run["problem"]["n"] == 60);
        CHECK(run["problem"]["preconditioner"] == "jacobi");
        CHECK(gpulab::testing::run_fault(run, wrong_rungs()) == "");
        for (const auto& v : run["variants"])
            if (v["status"] == "passed") {
                CHECK(v["iterations"] > 5);
                CHECK(v["residual"] < 1.1e-4);
            }
        CHECK(gpulab::read_matrix_market<double>(mtx.path()).rows == 60);
    }
}

TEST_CASE("one iteration of several devices is written as a trace, copies and kernels of every device", "[opencl]") {
    if (gpulab::devices(gpulab::Backend::opencl).empty()) SKIP(gpulab::why_no_devices(gpulab::Backend::opencl));
    const ScratchFile trace;
    const Outcome outcome =
        program("--generate laplace2d:40 --variant opencl_devices_halo --parts 3 --repeat 1 --limit 20 "
                "--tolerance 0 --trace " +
                trace.path());
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.exit_code == 0);
    std::set<std::string> names, lanes;
    const auto written = trace.json();
    for (const auto& event : written["traceEvents"]) {
        if (event["ph"] != "X") continue;
        const std::string name = event["name"].get<std::string>(); // "spmv: kernel"
        names.insert(name.substr(0, name.find(':')));
        lanes.insert(event["tid"].dump());
        CHECK(event["dur"] >= 0);
    }
    for (const char* const name : {"spmv", "dot", "next_x", "next_r", "next_p", "pack", "halo up", "halo down"})
        CHECK(names.contains(name));
    CHECK(lanes.size() >= 6); // a lane for the kernels and one for the copies, of three parts
}

TEST_CASE("a trace without a command is not written, and the exit code says so") {
    const ScratchFile trace, solution;
    const Outcome outcome = program("--generate laplace2d:4 --backend cpu --repeat 1 --trace " + trace.path() +
                                    " --solution " + solution.path());
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err ==
          "cg: " + trace.path() + ": not written, because no variant for several devices has made an iteration\n");
    CHECK_FALSE(std::filesystem::exists(trace.path()));
    CHECK(cg::read_vector<double>(solution.path()).size() == 16);
}

TEST_CASE("group counts are kept in the file of --tuning, and rows are shared out by speed", "[opencl]") {
    if (gpulab::devices(gpulab::Backend::opencl).empty()) SKIP(gpulab::why_no_devices(gpulab::Backend::opencl));
    const ScratchFile tuning;
    const std::string arguments =
        "--generate laplace2d:20 --variant opencl_tuned,opencl_devices_halo --repeat 1 --balance speed "
        "--tuning " +
        tuning.path();
    Outcome outcome = program(arguments);
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.exit_code == 0);
    CHECK(has(outcome.out, "groups per compute unit"));
    CHECK(has(outcome.out, "rows by measured speed:"));
    const std::string kept = tuning.text();
    CHECK(kept.starts_with("device,kernel,type,rows,groups,one_ms,best_ms\n"));
    outcome = program("--generate laplace2d:20 --variant opencl_tuned --repeat 1 --tuning " + tuning.path());
    CHECK(outcome.exit_code == 0);
    CHECK(tuning.text() == kept); // nothing is tried again
    tuning.write("no table\n");
    CHECK(program(arguments).exit_code != 0);
}

TEST_CASE("a file of --tuning that cannot serve is refused before the work, and overwrites nothing") {
    const ScratchFile file;
    const auto refusal = [&](const std::string& arguments) {
        const Outcome outcome = program("--generate laplace2d:20 --backend cpu --repeat 1 " + arguments);
        CHECK(outcome.exit_code == 2);
        CHECK(outcome.out == "");
        return outcome.err;
    };
    CHECK(refusal("--tuning /dev/zero").starts_with("cg: cannot read /dev/zero: "));
    CHECK(refusal("--tuning /nowhere/table.csv").starts_with("cg: cannot write /nowhere/table.csv: "));
    file.write("a matrix\n");
    CHECK(has(refusal("--matrix " + file.path() + " --tuning " + file.path()), "--tuning would overwrite"));
    CHECK(has(refusal("--tuning " + file.path() + " --json " + file.path()), "name the same file"));
    CHECK(file.text() == "a matrix\n");
}

TEST_CASE("memory is counted before it is taken") {
    CHECK(program("--generate laplace2d:40000").err.starts_with("cg: laplace2d:40000: this problem needs"));
    const ScratchFile matrix;
    matrix.write("%%MatrixMarket matrix coordinate real symmetric\n2147483647 2147483647 0\n");
    CHECK(program("--matrix " + matrix.path()).err.starts_with("cg: " + matrix.path() + ": this problem needs"));
}

TEST_CASE("every study runs and writes a list of runs") {
    for (const auto& study : cg::study_list()) {
        INFO(study.name);
        CHECK(program.study_fault(study.name, "--rows 400", 1, wrong_rungs()) == "");
    }
}
