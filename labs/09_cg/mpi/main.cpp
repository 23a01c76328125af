/// @file
/// Lab 09 on several computers: each process has a range of rows and a device of its own, and exchanges data with the
/// others by MPI.
///
/// MPI is a library for programs that run as several processes, the *ranks*, on one computer or on many: `mpirun -np 4
/// cg_mpi` starts four. A rank knows its number and sends numbers to others. Here it sends the halo, and shares of
/// sums. Where every rank has a GPU of its own, NCCL can send both from GPU to GPU instead.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <mpi.h>
#include <optional>
#include <thread>
#include <type_traits>

#include "../devices/mpi_host.hpp"
#include "../judge.hpp"
#include "../program.hpp"
#include "../runs.hpp"
#include "cpu_part.hpp"
#include "gpulab/error.hpp"
#include "link.hpp"
#include "rank.hpp"
#include "ranks.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "../opencl/solve.hpp"
#endif

namespace {

using cg::Ranks;
using gpulab::Backend;

/// What the user asked for.
struct Choice : cg::Choice {
    std::string on = "auto", link = "auto";
    std::size_t threads = 1; // of a rank on the CPU
    double patience = 120;
};

/// Whether the program has been built with NCCL.
#if defined(GPULAB_WITH_NCCL)
constexpr bool with_nccl = true;
#else
constexpr bool with_nccl = false;
#endif

/// What each rank has of something, on all of them.
template <class Value> std::vector<Value> of_all(const Ranks& ranks, const Value& mine) {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::vector<Value> all(static_cast<std::size_t>(ranks.count));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    return all;
}

/// A line of text, for of_all().
struct Line {
    explicit Line(const std::string& line = "") { cg::copy_text(line, text); }
    char text[1000] = "";
};

/// Does what may fail on a rank, such as reading files. If it fails on one, all end, and rank 0 says why.
template <class Body> void together(const Ranks& ranks, cg::Watchdog& watchdog, const Body& body) {
    Line refusal;
    try {
        body();
    } catch (const gpulab::UsageError& error) {
        refusal = Line(error.what());
    }
    watchdog.begin(); // from here on this rank waits for the others
    for (int rank = 0; const auto& [text] : of_all(ranks, refusal)) {
        if (text[0] != '\0') throw gpulab::UsageError(rank == 0 ? text : fmt::format("rank {}: {}", rank, text));
        ++rank;
    }
    watchdog.end();
}

/// This rank among all: where it and the others compute, and how they are linked.
struct Team {
    /// @throws gpulab::UsageError when a rank has no such device
    Team(const Choice& requested, const Ranks& its_ranks, cg::Watchdog& watchdog) : c(requested), ranks(its_ranks) {
        together(ranks, watchdog, [&] {
            mine.computer = ranks.computer;
            if (c.on == "opencl") mine.on = Backend::opencl;
            if (c.on == "cuda" || (c.on == "auto" && !gpulab::devices(Backend::cuda).empty())) mine.on = Backend::cuda;
            const std::vector<gpulab::Device> devices = cg::devices_for_ranks(mine.on);
            const auto local = static_cast<std::size_t>(ranks.local);
            device = devices[local % devices.size()];
            round = local / devices.size();
#if defined(GPULAB_WITH_CUDA)
            if (mine.on == Backend::cuda) cg::copy_text(cg::pci_address(device.index), mine.address);
#endif
            if (mine.on == Backend::opencl && !device.is_cpu) cg::copy_text(device.id(), mine.address);
        });
        all = of_all(ranks, mine);
        obstacle = cg::why_not_nccl(all, with_nccl);
        nccl = cg::takes_nccl(c.link, obstacle);
    }
    const Choice& c;
    const Ranks& ranks;
    cg::Place mine;
    gpulab::Device device; // of this rank; on CPU cores the whole CPU, whose memory all ranks of the computer share
    std::size_t round = 0; // ranks that had this device before: a computer's devices are dealt out to its ranks in turn
    std::vector<cg::Place> all;
    std::string obstacle; // to NCCL
    bool nccl = false;
};

/// This rank's rows on its device. @param nccl whether the ranks are linked by NCCL, and not through host memory
template <class T>
cg::Rank<T> rank_for(const Team& team, [[maybe_unused]] bool nccl, const cg::Problem<T>& problem,
                     const cg::Part<T>& part) {
    if (team.mine.on == Backend::cuda) gpulab::use(team.device);
#if defined(GPULAB_WITH_NCCL)
    if (nccl) {
        std::array<char, 128> id{};
        if (team.ranks.me == 0) id = cg::make_nccl_id();
        MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
        return cg::make_nccl_rank(problem, part, team.device.index, id);
    }
#endif
#if defined(GPULAB_WITH_CUDA)
    if (team.mine.on == Backend::cuda) return cg::make_cuda_rank(problem, part, team.device.index);
#endif
#if defined(GPULAB_WITH_OPENCL)
    if (team.mine.on == Backend::opencl) { // a lone CPU is cut into sub-devices
        auto& context = *gpulab::opencl_parts(team.device, team.round + 1).back();
        auto device = std::make_unique<cg::ClPart<T>>(context, problem, part, false);
        tune(*device, problem);
        return cg::make_rank<cg::Mpi<T, cg::ClPart<T>>>(problem, std::move(device));
    }
#endif
    auto cores = std::make_unique<cg::CpuPart<T>>(problem, part, static_cast<unsigned>(team.c.threads));
    return cg::make_rank<cg::Mpi<T, cg::CpuPart<T>>>(problem, std::move(cores));
}

/// The time in which a rank multiplies its rows, in milliseconds. All ranks measure at the same time, as they work
/// later: those that share a device or memory share its speed.
template <class T> double multiply_ms(const cg::Rank<T>& rank) {
    std::vector<double> times;
    rank.reset();
    for (int run = 0; run < 6; ++run) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        rank.multiply();
        if (run > 0) times.push_back(1000 * (MPI_Wtime() - begin)); // the first run may compile or fetch something
    }
    return gpulab::summarise(times).median;
}

/// The rows of every rank: with equally many non-zeros, or by measured speed. Equal on all ranks.
template <class T> cg::Split split_over_ranks(const Team& team, const cg::Problem<T>& problem) {
    const cg::Split equal = cg::split_rows(problem.matrix, std::vector<double>(team.all.size(), 1.0));
    if (problem.balance == cg::Balance::nnz) return equal;
    const cg::Part<T> part = cg::make_part(problem.matrix, equal, static_cast<std::size_t>(team.ranks.me));
    double ms = cg::slowness_for_tests(team.ranks) * multiply_ms(rank_for(team, false, problem, part));
    if (part.rows() == 0) ms = 0; // not measured
    return cg::split_by_speed(problem.matrix, equal, of_all(team.ranks, ms));
}

/// Solves again and again. @return the times in milliseconds, the same number on every rank
template <class T>
std::vector<double> times_of(const cg::Rank<T>& rank, int runs, const Ranks& ranks, cg::Watchdog& watchdog) {
    std::vector<double> times;
    for (int i = 0; i <= runs; ++i) { // the first one is not timed
        rank.reset();
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        rank.solve([&](std::size_t iteration) {
            watchdog.progress();
            cg::fault_for_tests(ranks, iteration);
        });
        MPI_Barrier(MPI_COMM_WORLD);
        if (i > 0) times.push_back(1000 * (MPI_Wtime() - begin));
        int enough = ranks.me == 0 && i >= 3 && i * times.back() > 2000; // the same answer on every rank
        MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (enough) break;
    }
    return times;
}

/// Whether all ranks have the same history, to the last bit.
bool ranks_agree(const Ranks& ranks, const std::vector<double>& history) {
    std::uint64_t mark = history.size(); // of the bits, because NaN is not equal to NaN
    for (const double norm : history) mark = (mark ^ std::bit_cast<std::uint64_t>(norm)) * 0x100000001b3u;
    return std::ranges::all_of(of_all(ranks, mark), [&](std::uint64_t other) { return other == mark; });
}

/// All elements of x, on rank 0.
template <class T>
std::vector<T> gathered(const Ranks& ranks, const cg::Split& split, const std::vector<T>& own, std::size_t n) {
    std::vector<int> counts;
    for (std::size_t i = 0; i < split.parts(); ++i) counts.push_back(static_cast<int>(split.rows(i)));
    const std::vector<int> places(split.first.begin(), split.first.end() - 1);
    std::vector<T> x(ranks.me == 0 ? n : 0);
    MPI_Gatherv(own.data(), static_cast<int>(own.size()), cg::mpi_type<T>(), x.data(), counts.data(), places.data(),
                cg::mpi_type<T>(), 0, MPI_COMM_WORLD);
    return x;
}

/// On what a rank computes, in words.
std::string words_for(const Team& team) {
    const bool threads = team.mine.on == Backend::cpu && team.c.threads > 1;
    return threads ? fmt::format("{} threads on {}", team.c.threads, team.device.name) : team.device.name;
}

/// Prints what each rank has, on rank 0: the others write to /dev/null.
template <class T> void print_parts(const Team& team, const cg::Part<T>& part) {
    std::string link = "by host memory";
    if (team.c.link == "auto" && team.mine.on == Backend::cuda) link += fmt::format(" ({})", team.obstacle);
#if defined(GPULAB_WITH_NCCL)
    if (team.nccl) link = "by NCCL " + cg::nccl_version();
#endif
    const Line mine(fmt::format("rank {}: rows {} to {}, {} non-zeros, halo {}, {}, {}", team.ranks.me, part.first,
                                part.first + part.rows(), part.matrix.nonzeros(), part.halo.size(), words_for(team),
                                link));
    for (const Line& line : of_all(team.ranks, mine)) fmt::print("{}\n", line.text);
}

/// What rank 0 does with the solution. Its device stands for all in the report. @return the exit code
template <class T>
int report_solution(gpulab::Report& report, cg::Files& files, const Team& team, const cg::Problem<T>& problem,
                    const cg::Output<T>& out, bool agreed, const std::vector<double>& times) try {
    gpulab::Comparison comparison = cg::compare(problem, cg::make_reference(problem), out);
    if (!agreed) {
        comparison.passed = false;
        comparison.message = "the ranks disagree about the residuals";
    }
    gpulab::Result result;
    result.variant = "mpi";
    result.device = team.device;
    result.backend = team.device.backend;
    result.has_device = true;
    result.devices = cg::count_devices(team.all);
    result.status = comparison.passed ? gpulab::Result::Status::passed : gpulab::Result::Status::failed;
    result.reason = comparison.message;
    result.error = comparison.error;
    result.tolerance = comparison.tolerance;
    result.kernel = gpulab::summarise(times);
    result.extra = cg::iteration_values(out, result.kernel.median);
    result.extra.insert(result.extra.end(), {{"ranks", team.ranks.count},
                                             {"devices", result.devices},
                                             {"on", words_for(team)},
                                             {"link", team.nccl ? "nccl" : "host"}});
    cg::add_columns(report);
    report.add(std::move(result), cg::work(problem, out.iterations()));
    int code = gpulab::exit_failure;
    files.write([&] { code = report.finish(); });
    files.write_histories({{fmt::format("mpi on {} ranks", team.ranks.count), out.history}});
    fmt::print("\n{}\n", cg::report_solution(problem, out, files, team.c.name()));
    return files.all_written() ? code : gpulab::exit_failure;
} catch (const gpulab::Error&) {
    return gpulab::fail("cg_mpi");
}

/// Tells all ranks the exit code. They sleep until then: MPI's own waiting would keep their cores busy while rank 0
/// measures the copy bandwidth.
int told(int code, const Ranks& ranks) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    for (int done = 0; !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        if (ranks.me != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return code;
}

template <class T> int run(const gpulab::Options& options, const Choice& c, const Ranks& ranks) {
    cg::Watchdog watchdog(c.patience, ranks.me); // ends after the rank, which may wait for the others when it ends
    const Team team(c, ranks, watchdog);

    // Every rank makes the whole system and keeps its part: simple, but all of it must fit into each computer's memory.
    std::optional<cg::Problem<T>> made;
    std::optional<cg::Files> files; // rank 0
    std::optional<gpulab::Report> report;
    together(ranks, watchdog, [&] {
        made = cg::problem_of<T>(options, c, ranks.on_computer);
        if (ranks.me != 0) return;
        files.emplace("cg_mpi", c);
        report.emplace(options, cg::parameters(*made, c.name()));
    });
    const cg::Problem<T>& problem = *made;
    if (problem.balance == cg::Balance::speed) watchdog.begin(); // the ranks wait for each other
    const cg::Split split = split_over_ranks(team, problem);
    watchdog.end();
    const cg::Part<T> part = cg::make_part(problem.matrix, split, static_cast<std::size_t>(ranks.me));
    if (team.nccl) watchdog.begin(); // NCCL waits for all ranks
    const cg::Rank<T> rank = rank_for(team, team.nccl, problem, part);
    watchdog.begin();
    const std::vector<double> times = times_of(rank, std::min(options.stopwatch().repeats(), 20), ranks, watchdog);
    cg::Output<T> out;
    rank.result(out); // x: this rank's elements
    const bool agreed = ranks_agree(ranks, out.history);
    out.x = gathered(ranks, split, out.x, problem.n());
    watchdog.end(); // rank 0 may take long to judge

    print_parts(team, part);
    int code = gpulab::exit_success;
    if (ranks.me == 0) code = report_solution(*report, *files, team, problem, out, agreed, times);
    std::fflush(stdout);
    return told(code, ranks);
}

int with_ranks(int argc, char** argv, const Ranks& ranks) {
    Choice c;
    gpulab::Options options("cg_mpi", "A x = b by conjugate gradients, on several processes (mpirun -np 4 cg_mpi)");
    cg::add_options(options, c, "; every computer must have it",
                    "the rows of a rank: equally many non-zeros, or by the speed at which it multiplies",
                    {"nnz", "speed"});
    options.choice("--on", c.on, {"auto", "cpu", "opencl", "cuda"},
                   "where a rank computes; auto: a GPU if there is one, else the CPU");
    options.choice("--link", c.link, {"auto", "host", "nccl"},
                   "how ranks send halo and sums: host, through host memory by MPI; nccl, from GPU to GPU; auto: nccl "
                   "where every rank has a GPU of its own, else host");
    options.size("--threads", c.threads, 1, "threads of each rank on the CPU", 1024);
    options.number("--patience", c.patience, 1, 1e6, "seconds without an iteration after which a rank gives up");
    if (!options.parse(argc, argv)) return gpulab::exit_success;
    for (const char* const name : {"--backend", "--device", "--flush-l2"})
        if (options.given(name)) throw gpulab::UsageError(fmt::format("{}: --on says where ranks compute", name));
    if (options.given("--threads") && c.on != "cpu" && c.on != "auto")
        throw gpulab::UsageError("--threads: is for ranks on the CPU (--on cpu)");
    cg::set_defaults(c);
    return c.type == "double" ? run<double>(options, c, ranks) : run<float>(options, c, ranks);
}

} // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    Ranks ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    MPI_Comm here; // the ranks of this computer
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_rank(here, &ranks.local);
    MPI_Comm_size(here, &ranks.on_computer);
    MPI_Allreduce(&ranks.me, &ranks.computer, 1, MPI_INT, MPI_MIN, here);
    MPI_Comm_free(&here);
    // One rank speaks for all; what all of them refuse alike is said once.
    if (ranks.me != 0 && !std::freopen("/dev/null", "w", stdout)) return gpulab::exit_failure;
    int code = gpulab::exit_failure;
    try {
        code = with_ranks(argc, argv, ranks);
    } catch (const gpulab::UsageError&) {
        // Of the arguments, which every rank has, or of together(): all end by themselves.
        if (ranks.me == 0) code = gpulab::fail("cg_mpi");
    } catch (...) {
        gpulab::fail(fmt::format("cg_mpi: rank {}", ranks.me));
        MPI_Abort(MPI_COMM_WORLD, gpulab::exit_failure); // the others may wait for this one
    }
    MPI_Finalize();
    return code;
}
