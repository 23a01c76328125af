// The program for several computers, with four ranks on this one: the same answers, and an end when a rank dies.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "gpulab/device.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/in_folder.hpp"
#include "mpi/link.hpp"
#include "systems.hpp"

using gpulab::testing::Environment;
using gpulab::testing::Files;
using gpulab::testing::InFolder;
using gpulab::testing::Outcome;
using namespace cg;
using namespace cg::testing;

namespace {

#if defined(CG_WITH_NCCL)
constexpr bool with_nccl = true;
#else
constexpr bool with_nccl = false;
#endif

/// Processes of one program, in a folder of their own.
struct Ranks : InFolder {
    explicit Ranks(const Files& files = {}) : InFolder(gpulab::testing::Program("cg_mpi", "/usr/bin/timeout"), files) {}

    /// Runs a command, by default cg_mpi, with this number of ranks.
    Outcome operator()(int ranks, const std::string& arguments, const std::string& command = CG_MPI_PROGRAM) const {
        const Environment root("OMPI_ALLOW_RUN_AS_ROOT", "1"), confirm("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        // One compute unit for each rank's OpenCL device; no shared memory files that a sandbox may lack.
        const Environment units("POCL_MAX_PTHREAD_COUNT", "1");
        // Open MPI frees little of what it allocates: the preset sanitize would report that of every rank.
        const Environment leaks("LSAN_OPTIONS", "detect_leaks=0");
        return InFolder::operator()(fmt::format("120 " CG_MPIRUN " -np {} {} {}", ranks, command, arguments));
    }
};

/// Runs cg_mpi without files.
Outcome mpi(int ranks, const std::string& arguments) { return Ranks()(ranks, arguments); }

/// What was said by a run that must end with exit code 2.
std::string refusal(const Outcome& outcome) {
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 2);
    return outcome.err;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The first `most` numbers of ranks from 1 on that have a GPU each.
std::vector<int> with_a_gpu_each(int most) {
    std::vector<int> counts;
    for (int n = 1; n <= std::min<int>(most, static_cast<int>(gpulab::devices(gpulab::Backend::cuda).size())); ++n)
        counts.push_back(n);
    return counts;
}

/// The number of GPUs; without one the running test case is skipped. Its ranks are processes of their own that hardly
/// use a GPU: no other test waits for them.
std::size_t gpus_or_skip() {
    const std::size_t found = gpulab::testing::devices_or_skip(gpulab::Backend::cuda).size();
    gpulab::testing::leave_turns();
    return found;
}

/// Skips the running test case where NCCL cannot be used. @param gpus as many are needed
void nccl_or_skip(std::size_t gpus) {
    const std::size_t found = gpus_or_skip();
    std::string reason;
    if (found < gpus) reason = fmt::format("needs {} GPUs, and there is {}", gpus, found);
    if (!with_nccl) reason = "cg_mpi is built without NCCL";
    if (reason.empty()) return;
    std::cout << "skipped: " << reason << std::endl; // in one line, for tools/run_tests.py
    SKIP(reason);
}

/// A solution by ranks is held against that of one core. It starts from random numbers.
/// @param matrix to generate @param jacobi whether to use it @param link host, nccl, or auto: whatever fits
void check_ranks(const std::string& on, const std::string& matrix, std::vector<int> counts, bool jacobi = false,
                 const std::string& link = "auto") {
    const auto c = generated<double>(matrix, settings(1e-10, 10000, jacobi), true);
    const Ranks here({{"b", gpulab::array_text(c.problem.b)}, {"start", gpulab::array_text(c.problem.start)}});
    const Output<double> expected = solved(c.problem);
    double size = 0;
    for (const double v : expected.x) size = std::max(size, std::abs(v));
    for (const int ranks : counts) {
        INFO(matrix << " with " << ranks << " ranks on " << on << ", link " << link);
        const Outcome outcome = here(
            ranks, fmt::format("--on {} --generate {} --seed {} --rhs b --start start --tolerance 1e-10 --repeat 1 "
                               "--solution x --json json --history history --link {} {}",
                               on, matrix, gpulab::testing::seed, link, jacobi ? "--preconditioner jacobi" : ""));
        INFO(outcome.out << outcome.err);
        REQUIRE(outcome.exit_code == 0);
        const auto x = gpulab::read_vector<double>(here.path("x"));
        REQUIRE(x.size() == expected.x.size());
        for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(std::abs(x[i] - expected.x[i]) <= 1e-6 * size);
        const auto run = here.json("json")["variants"][0];
        CHECK(run["ranks"] == ranks);
        CHECK(run["backend"] == on.substr(0, on.find(' ')));
        CHECK(run["status"] == "passed"); // the program compares the history, too
        const auto gpus = static_cast<int>(gpulab::devices(gpulab::Backend::cuda).size());
        const std::string fits = on.starts_with("cuda") && with_nccl && ranks <= gpus ? "nccl" : "host";
        CHECK(run["link"] == (link == "auto" ? fits : link));
        CHECK(has(outcome.out, run["link"] == "nccl" ? ", by NCCL " : ", by host memory"));

        std::istringstream lines(here.text("history"));
        std::string line;
        REQUIRE(std::getline(lines, line));
        CHECK(line == "variant,iteration,residual");
        std::size_t count = 0;
        double norm = 0;
        for (; std::getline(lines, line); ++count) {
            const std::string before = fmt::format("mpi on {} ranks,{},", ranks, count);
            REQUIRE(line.starts_with(before));
            norm = std::stod(line.substr(before.size()));
            if (count == 0) CHECK(std::abs(norm - expected.history[0]) <= 1e-12 * norm);
        }
        CHECK(count == run["iterations"].get<std::size_t>() + 1);
        CHECK(norm <= c.problem.stop_at); // converged
    }
}

/// A rank that dies ends the others. @param with options of cg_mpi
void check_death(int ranks, const std::string& with) {
    const Environment fault("CG_MPI_FAULT", fmt::format("die:{}", ranks - 1));
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = mpi(ranks, with + " --generate laplace2d:40");
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.exit_code != 124); // of timeout: it hung
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}

/// A rank that stops ends the others after the time limit. @param seconds that limit
void check_halt(int ranks, const std::string& with, int seconds) {
    const Environment fault("CG_MPI_FAULT", "stop:1");
    const Outcome outcome = mpi(ranks, fmt::format("{} --generate laplace2d:40 --patience {}", with, seconds));
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.exit_code != 124);
    CHECK(has(outcome.err, fmt::format("no progress for {} s; another rank does not answer", seconds)));
}

/// The exit codes and messages of solutions that fail.
void check_ends(int ranks, const std::string& with) {
    const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
    const Ranks here({{"indefinite", symmetric + "3 3 3\n1 1 1\n2 2 -5\n3 3 1\n"},
                      {"overflowing", overflowing_matrix},
                      {"exhausting", exhausting_matrix()},
                      {"b", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n"}});
    const std::string arguments = with + " --repeat 1 ";
    Outcome outcome = here(ranks, arguments + "--generate laplace2d:20 --limit 3");
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, "not converged within 3 iterations"));
    CHECK(
        has(refusal(here(ranks, arguments + "--matrix indefinite")), "the matrix is not positive definite: p.Ap = -"));
    CHECK(here(ranks, arguments + "--tolerance 0 --matrix indefinite").exit_code == 2);
    outcome = here(ranks, arguments + "--matrix overflowing --rhs b --solution x");
    CHECK(has(refusal(outcome), "x has x after iteration 0\n"));
    CHECK(has(outcome.out, "1 right, 0 wrong, 0 skipped")); // the ranks did what one core does
    CHECK(gpulab::read_vector<double>(here.path("x")) == std::vector<double>{0, 0});
    outcome = here(ranks, arguments + "--tolerance 1e-300 --matrix exhausting");
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, " iterations the residual is rounding only: "));
}

} // namespace

TEST_CASE("one to four ranks on CPU cores give the same answer", "[cpu]") {
    check_ranks("cpu", "laplace2d:31x17", {1, 2, 3, 4});
    check_ranks("cpu", "springs:5x6", {4}, true);
    check_ranks("cpu", "stiffness:3", {4}); // fewer rows than ranks
}

TEST_CASE("ranks on the cores of one computer are held against its memory bandwidth once", "[cpu]") {
    for (const int ranks : {1, 2, 4}) {
        const Ranks here;
        const Outcome outcome =
            here(ranks, "--on cpu --generate laplace2d:60 --tolerance 0 --limit 50 --repeat 1 --json json");
        INFO(ranks << " ranks\n" << outcome.out << outcome.err);
        REQUIRE(outcome.exit_code == 0);
        const auto run = here.json("json");
        const auto& v = run["variants"][0];
        CHECK(v["devices"] == 1);
        CHECK(v["device"] == "cpu:0");
        const double bound = run["devices"][0]["ceilings"]["copy_gb_per_s"], rate = v["gb_per_s"],
                     percent = v["percent_of_ceiling"];
        CHECK(std::abs(percent - 100 * rate / bound) < 1e-6 * percent);
    }
}

TEST_CASE("a device that ranks share counts once, and one with the same address on another computer counts, too",
          "[cpu]") {
    std::vector<Place> places(4);
    CHECK(count_devices(places) == 1); // all on the cores of one computer
    places[2].computer = places[3].computer = 2;
    CHECK(count_devices(places) == 2);
    for (Place& place : places) {
        place.on = gpulab::Backend::cuda;
        copy_text("0000:01:00.0", place.address);
    }
    CHECK(count_devices(places) == 2);
    copy_text("0000:02:00.0", places[1].address);
    CHECK(count_devices(places) == 3);
}

TEST_CASE("ranks on the CPU with several threads give the same answer", "[cpu]") {
    check_ranks("cpu --threads 3", "laplace2d:31x17", {1, 2});
    check_ranks("cpu --threads 2", "springs:5x6", {3}, true);
    check_ranks("cpu --threads 5", "stiffness:3", {2}); // fewer rows than threads
    const Outcome outcome = mpi(2, "--on cpu --threads 3 --generate laplace2d:20 --repeat 1");
    CHECK(has(outcome.out, "rank 0: "));
    CHECK(has(outcome.out, ", 3 threads on "));
}

TEST_CASE("ranks get rows by measured speed, and give the same answer", "[cpu]") {
    check_ranks("cpu --balance speed", "laplace2d:31x17", {1, 2, 3});
    check_ranks("cpu --balance speed", "stiffness:3", {4}); // ranks without a row are not measured
    // One of two ranks counts as a thousand times slower: nearly all rows are the other's.
    const Environment slow("CG_MPI_SLOW", "0:1000");
    const auto first_of_rank_1 = [](const std::string& balance) {
        const Outcome outcome = mpi(2, "--on cpu --generate laplace2d:40 --repeat 1 --balance " + balance);
        INFO(outcome.out << outcome.err);
        REQUIRE(outcome.exit_code == 0);
        const std::string before = "rank 1: rows ";
        const std::size_t at = outcome.out.find(before);
        REQUIRE(at != std::string::npos);
        return std::stoi(outcome.out.substr(at + before.size()));
    };
    CHECK(first_of_rank_1("nnz") == 800);
    CHECK(first_of_rank_1("speed") < 200);
    check_ranks("cpu --balance speed", "laplace2d:31x17", {2});
}

TEST_CASE("one to four ranks on OpenCL devices give the same answer", "[opencl]") {
    if (gpulab::devices(gpulab::Backend::opencl).empty()) SKIP(gpulab::why_no_devices(gpulab::Backend::opencl));
    check_ranks("opencl", "laplace2d:31x17", {1, 2, 4}, true);
    check_ranks("opencl", "stiffness:3", {4});
    check_ranks("opencl --balance speed", "laplace2d:31x17", {3});
}

TEST_CASE("one to four ranks on GPUs give the same answer", "[cuda]") {
    gpus_or_skip();
    check_ranks("cuda", "laplace2d:31x17", {1, 2, 4});
    check_ranks("cuda", "springs:5x6", {3}, true);
    check_ranks("cuda", "stiffness:3", {4});
    check_ranks("cuda --balance speed", "laplace2d:31x17", {2});
}

TEST_CASE("ranks linked by host memory give the same answer, also when they share a GPU", "[cuda]") {
    gpus_or_skip();
    check_ranks("cuda", "laplace2d:31x17", {1, 2, 3}, true, "host");
    const int ranks = static_cast<int>(gpulab::devices(gpulab::Backend::cuda).size()) + 1;
    const Outcome outcome = mpi(ranks, "--on cuda --generate laplace2d:20 --repeat 1");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 0);
    const std::string shared = fmt::format("ranks 0 and {} share a GPU, and NCCL needs one for each", ranks - 1);
    CHECK(has(outcome.out, ", by host memory (" + shared + ")\n"));
    CHECK(has(refusal(mpi(ranks, "--on cuda --generate laplace2d:20 --repeat 1 --link nccl")),
              "cg_mpi: --link nccl: " + shared + "\n"));
}

TEST_CASE("one rank linked by NCCL gives the same answer, and every end has its exit code", "[cuda]") {
    nccl_or_skip(1);
    check_ranks("cuda", "laplace2d:31x17", {1}, false, "nccl");
    check_ranks("cuda", "springs:5x6", {1}, true, "nccl");
    check_ends(1, "--on cuda --link nccl");
}

TEST_CASE("two to four ranks linked by NCCL give the same answer", "[cuda]") {
    nccl_or_skip(2);
    check_ranks("cuda", "laplace2d:31x17", with_a_gpu_each(4), false, "nccl");
    check_ranks("cuda", "springs:5x6", with_a_gpu_each(3), true, "nccl");
    check_ranks("cuda", "stiffness:3", with_a_gpu_each(4), false, "nccl"); // four: fewer rows than ranks
    check_ends(2, "--on cuda --link nccl");
    // More rows than run at a time, so that the halo comes between blocks of the inner rows. The program compares.
    const Outcome outcome =
        mpi(2, "--on cuda --link nccl --generate laplace2d:1500 --type float --tolerance 0 --limit 30 --repeat 2");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.exit_code == 0);
    CHECK(has(outcome.out, ", by NCCL "));
}

TEST_CASE("a rank that dies or stops ends those linked to it by NCCL", "[cuda]") {
    nccl_or_skip(2);
    check_death(2, "--on cuda --link nccl");
    check_halt(2, "--on cuda --link nccl", 15); // NCCL takes seconds to begin
}

TEST_CASE("a rank that dies ends the others with an error", "[cpu]") { check_death(4, "--on cpu"); }

TEST_CASE("a rank that stops ends the others after the time limit", "[cpu]") { check_halt(4, "--on cpu", 2); }

TEST_CASE("NCCL is for ranks that have a GPU each", "[cpu]") {
    const auto gpu = [](int computer, const std::string& pci) {
        Place place;
        place.on = gpulab::Backend::cuda;
        place.computer = computer;
        copy_text(pci, place.address);
        return place;
    };
    const std::vector<Place> apart = {gpu(0, "0000:01:00.0"), gpu(0, "0000:02:00.0"), gpu(2, "0000:01:00.0")};
    CHECK(why_not_nccl(apart, true).empty());
    CHECK(why_not_nccl(apart, false) == "cg_mpi is built without NCCL");
    std::vector<Place> places = apart;
    places.push_back(gpu(2, "0000:01:00.0"));
    const std::string shared = "ranks 2 and 3 share a GPU, and NCCL needs one for each";
    CHECK(why_not_nccl(places, true) == shared);
    places = apart;
    places[1] = Place();
    CHECK(why_not_nccl(places, true) == "rank 1 computes on a CPU core, and NCCL is for GPUs");
    places[1].on = gpulab::Backend::opencl;
    CHECK(why_not_nccl(places, true) == "rank 1 computes on an OpenCL device, and NCCL is for GPUs");

    CHECK(takes_nccl("auto", ""));
    CHECK(takes_nccl("nccl", ""));
    CHECK_FALSE(takes_nccl("host", ""));
    CHECK_FALSE(takes_nccl("auto", shared));
    CHECK_FALSE(takes_nccl("host", shared));
    CHECK_THROWS_AS(takes_nccl("nccl", shared), gpulab::UsageError);
}

TEST_CASE("when a file cannot be written, rank 0 writes the others, and the exit code is 2", "[cpu]") {
    if (!std::filesystem::exists("/dev/full")) SKIP("there is no /dev/full");
    const Ranks here;
    const Outcome outcome = here(1, "--on cpu --generate laplace2d:4 --repeat 1 --solution /dev/full --history history "
                                    "--json json");
    CHECK(has(refusal(outcome), "cg_mpi: cannot write /dev/full: "));
    CHECK(here.text("history").starts_with("variant,iteration,residual\n"));
    CHECK(here.json("json")["variants"][0]["status"] == "passed");
    CHECK(has(outcome.out, "converged after "));
}

TEST_CASE("a link that cannot be is refused once", "[cpu]") {
    const std::string said = refusal(mpi(3, "--on cpu --link nccl")),
                      message = "cg_mpi: --link nccl: rank 0 computes on a CPU core, and NCCL is for GPUs\n";
    CHECK(has(said, message));
    CHECK(said.find(message) == said.rfind(message));
    CHECK(has(refusal(mpi(2, "--on cpu --link carrier-pigeon")),
              "cg_mpi: --link: 'carrier-pigeon' is not auto, host or nccl\n"));
}

TEST_CASE("options that ranks do not use, and systems that do not fit into the memory, are refused", "[cpu]") {
    for (const std::string option :
         {"--list", "--variant cpu_threads", "--backend opencl", "--device cpu:0", "--flush-l2", "--study list"}) {
        INFO(option);
        CHECK(has(refusal(mpi(2, option)), "cg_mpi: " + option.substr(0, option.find(' ')) + ": "));
    }
    for (const std::string arguments :
         {"--on opencl --threads 2", "--threads 0 --on cpu", "--balance fair --on cpu", "--balance units --on cpu"}) {
        INFO(arguments);
        CHECK(refusal(mpi(2, arguments)).starts_with("cg_mpi: --"));
    }
    for (const std::string matrix : {"laplace2d:40000", "laplace3d:1200"})
        CHECK(has(refusal(mpi(2, "--on cpu --generate " + matrix)),
                  "cg_mpi: " + matrix + " in 2 ranks: this problem needs "));
}

TEST_CASE("what one rank alone refuses ends all of them", "[cpu]") {
    const Ranks here(Files{{"A", "%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n2 2 2\n"}});
    // Only rank 0 finds its matrix. Open MPI and MPICH tell a process its number by different names.
    const std::string said = refusal(here(3,
                                          "-c 'n=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; if [ \"$n\" = 0 ]; then m=A; else "
                                          "m=A.$n; fi; exec " CG_MPI_PROGRAM " --on cpu --matrix $m'",
                                          "sh"));
    CHECK(has(said, "cg_mpi: rank 1: "));
    CHECK(has(said, "A.1"));
    // Only rank 0 opens files that are written.
    for (const std::string option : {"--json", "--csv", "--solution", "--history"}) {
        INFO(option);
        CHECK(has(refusal(mpi(2, "--on cpu --generate laplace2d:20 --repeat 1 " + option + " folder/x")),
                  "cg_mpi: cannot write folder/x: "));
    }
}

TEST_CASE("what all ranks refuse is said once, and every end has its exit code", "[cpu]") {
    const Ranks here(Files{{"A", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 2\n1 2 1\n2 2 2\n"}});
    const std::string said = refusal(here(3, "--on cpu --matrix A"));
    CHECK(has(said, "cg_mpi: A is not symmetric: element (1, 2) is 1, element (2, 1) is 0\n"));
    CHECK(said.find("symmetric") == said.rfind("symmetric"));
    check_ends(2, "--on cpu");
}
