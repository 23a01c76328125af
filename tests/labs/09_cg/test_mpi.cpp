// The program for several computers, with four ranks on this one: the same answers, and an end when a rank dies.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <string>

#include "files.hpp"
#include "gpulab/device.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/program.hpp"
#include "systems.hpp"

using gpulab::testing::Environment;
using gpulab::testing::Outcome;
using gpulab::testing::ScratchFile;

namespace {

/// Runs cg_mpi with so many ranks.
Outcome mpi(int ranks, const std::string& arguments) {
    const Environment root("OMPI_ALLOW_RUN_AS_ROOT", "1"), confirm("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    // One compute unit for each rank's OpenCL device; no shared memory files that a sandbox may lack.
    const Environment units("POCL_MAX_PTHREAD_COUNT", "1");
    static const gpulab::testing::Program timeout("cg_mpi", "/usr/bin/timeout");
    return timeout(fmt::format("120 " CG_MPIRUN " -np {} {} {}", ranks, CG_MPI_PROGRAM, arguments));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A solution by ranks is held against that of one core. @param matrix to generate @param jacobi whether to use it
void check_ranks(const std::string& on, const std::string& matrix, std::vector<int> counts, bool jacobi = false) {
    const auto c = cg::testing::generated<double>(matrix, cg::testing::settings(1e-10, 10000, jacobi));
    const ScratchFile rhs;
    rhs.write(cg::to_matrix_market(c.problem.b));
    cg::Output<double> expected;
    cg::Stopwatch once;
    gpulab::run_of(cg::variants<double>(), "cpu_sequential")(c.problem, expected, once);
    double size = 0;
    for (const double v : expected.x) size = std::max(size, std::abs(v));
    for (const int ranks : counts) {
        INFO(matrix << " with " << ranks << " ranks on " << on);
        const ScratchFile file, json;
        const Outcome outcome = mpi(
            ranks, fmt::format("--on {} --generate {} --seed {} --rhs {} --tolerance 1e-10 --repeat 1 --solution {} "
                               "--json {} {}",
                               on, matrix, gpulab::testing::seed, rhs.path(), file.path(), json.path(),
                               jacobi ? "--preconditioner jacobi" : ""));
        INFO(outcome.out << outcome.err);
        REQUIRE(outcome.exit_code == 0);
        const auto x = cg::read_vector<double>(file.path());
        REQUIRE(x.size() == expected.x.size());
        for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(std::abs(x[i] - expected.x[i]) <= 1e-6 * size);
        const auto run = json.json()["variants"][0];
        CHECK(run["ranks"] == ranks);
        CHECK(run["status"] == "passed"); // the program compares the history, too
    }
}

} // namespace

TEST_CASE("one to four ranks on CPU cores give the same answer", "[cpu]") {
    check_ranks("cpu", "laplace2d:31x17", {1, 2, 3, 4});
    check_ranks("cpu", "springs:5x6", {4}, true);
    check_ranks("cpu", "stiffness:3", {4}); // fewer rows than ranks
}

TEST_CASE("one to four ranks on OpenCL devices give the same answer", "[opencl]") {
    if (gpulab::devices(gpulab::Backend::opencl).empty()) SKIP(gpulab::why_no_devices(gpulab::Backend::opencl));
    check_ranks("opencl", "laplace2d:31x17", {1, 2, 4}, true);
    check_ranks("opencl", "stiffness:3", {4});
}

TEST_CASE("one to four ranks on GPUs give the same answer", "[cuda]") {
    gpulab::testing::devices_or_skip(gpulab::Backend::cuda);
    gpulab::testing::in_turn([] {
        check_ranks("cuda", "laplace2d:31x17", {1, 2, 4});
        check_ranks("cuda", "springs:5x6", {3}, true);
        check_ranks("cuda", "stiffness:3", {4});
    });
}

TEST_CASE("a rank that dies ends the others with an error", "[cpu]") {
    const Environment fault("CG_MPI_FAULT", "die:2");
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = mpi(4, "--on cpu --generate laplace2d:40");
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.exit_code != 124); // of timeout: it hung
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

TEST_CASE("a rank that stops ends the others after the time limit", "[cpu]") {
    const Environment fault("CG_MPI_FAULT", "stop:1");
    const Outcome outcome = mpi(4, "--on cpu --generate laplace2d:40 --patience 2");
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.exit_code != 124);
    CHECK(has(outcome.err, "no progress for 2 s; another rank does not answer"));
}

TEST_CASE("what all ranks refuse is said once, and every end has its exit code", "[cpu]") {
    const ScratchFile matrix;
    matrix.write("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 1\n2 2 2\n");
    Outcome outcome = mpi(3, "--on cpu --matrix " + matrix.path());
    CHECK(outcome.exit_code == 2);
    CHECK(
        has(outcome.err, "cg_mpi: " + matrix.path() + " is not symmetric: element (1, 2) is 1, element (2, 1) is 0\n"));
    CHECK(outcome.err.find("symmetric") == outcome.err.rfind("symmetric"));
    outcome = mpi(2, "--on cpu --generate laplace2d:20 --limit 3 --repeat 1");
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, "not converged within 3 iterations"));
    matrix.write("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 2 -5\n3 3 1\n");
    outcome = mpi(2, "--on cpu --repeat 1 --matrix " + matrix.path());
    CHECK(outcome.exit_code == 2);
    CHECK(has(outcome.err, "the matrix is not positive definite: p.Ap = -"));
}
