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

#include "../files.hpp"
#include "../runs.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "host_solver.hpp"
#include "link.hpp"
#include "nccl_solver.hpp"
#include "ranks.hpp"

namespace {

using cg::Ranks;

/// What the user asked for.
struct Choice {
    std::string matrix, generate = "laplace2d:100", rhs, start, solution, history;
    std::string type = "double", method = "cg", preconditioner = "none", criterion = "relative", on = "auto",
                link = "auto", balance = "nnz";
    std::size_t threads = 1; // of a rank on the CPU
    double patience = 120;
    cg::Settings settings;
};

/// Whether the program has been built with NCCL.
#if defined(GPULAB_WITH_NCCL)
constexpr bool with_nccl = true;
#else
constexpr bool with_nccl = false;
#endif

/// Does what may fail on a rank, such as reading files. If it fails on one, all end, and rank 0 says why.
template <class Body> void together(const Ranks& ranks, cg::Watchdog& watchdog, const Body& body) {
    char refusal[1000] = "";
    try {
        body();
    } catch (const gpulab::UsageError& error) {
        cg::copy_text(error.what(), refusal);
    }
    watchdog.begin(); // from here on this rank waits for the others
    int first = refusal[0] == '\0' ? ranks.count : ranks.me;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first < ranks.count) {
        MPI_Bcast(refusal, sizeof refusal, MPI_CHAR, first, MPI_COMM_WORLD);
        throw gpulab::UsageError(first == 0 ? refusal : fmt::format("rank {}: {}", first, refusal));
    }
    watchdog.end();
}

/// The device of this rank. A rank on CPU cores has the whole CPU, whose memory all ranks of the computer share.
gpulab::Device device_of(cg::Place::On on, const Ranks& ranks) {
    if (on == cg::Place::On::cuda) return cg::device_of_rank(gpulab::Backend::cuda, ranks.local);
    if (on == cg::Place::On::opencl) return cg::opencl_device_of_rank(ranks.local);
    return gpulab::devices(gpulab::Backend::cpu).front();
}

/// Where this rank computes. @param on auto, cpu, opencl or cuda
/// @throws gpulab::UsageError when it has no such device
cg::Place place_of(const std::string& on, const Ranks& ranks) {
    cg::Place place;
    place.computer = ranks.computer;
    const auto has = [](gpulab::Backend backend) { return !gpulab::devices(backend).empty(); };
    if (on == "opencl") place.on = cg::Place::On::opencl;
    if (on == "cuda" || (on == "auto" && has(gpulab::Backend::cuda))) place.on = cg::Place::On::cuda;
    for (const gpulab::Backend backend : {gpulab::Backend::opencl, gpulab::Backend::cuda})
        if (on == gpulab::name_of(backend) && !has(backend))
            throw gpulab::UsageError("--on " + on + ": " + gpulab::why_no_devices(backend));
#if defined(GPULAB_WITH_CUDA)
    if (place.on == cg::Place::On::cuda) cg::copy_text(cg::pci_address(device_of(place.on, ranks)), place.address);
#endif
    if (const gpulab::Device device = device_of(place.on, ranks); place.on == cg::Place::On::opencl && !device.is_cpu)
        cg::copy_text(device.id(), place.address);
    return place;
}

/// This rank's rows on its device.
template <class T>
std::unique_ptr<cg::RankPart<T>> part_on([[maybe_unused]] cg::Place::On on, [[maybe_unused]] const Ranks& ranks,
                                         std::size_t threads, const cg::Problem<T>& problem, const cg::Part<T>& part) {
#if defined(GPULAB_WITH_CUDA)
    if (on == cg::Place::On::cuda) return cg::make_cuda_part(problem, part, ranks.local);
#endif
#if defined(GPULAB_WITH_OPENCL)
    if (on == cg::Place::On::opencl) return cg::make_opencl_part(problem, part, ranks.local);
#endif
    return cg::make_cpu_part(problem, part, static_cast<unsigned>(threads));
}

/// The time in which this rank multiplies its rows, in milliseconds; 0 without rows. All ranks measure at the same
/// time, as they work later: those that share a device or memory share its speed.
template <class T> double multiply_ms(cg::RankPart<T>& device, const cg::Part<T>& part) {
    const std::vector<T> halo(part.halo.size());
    std::vector<double> times;
    device.reset();
    for (int run = 0; run < 6; ++run) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        device.multiply_inner();
        (void)device.multiply_border(halo.data()); // it waits for the end
        times.push_back(1000 * (MPI_Wtime() - begin));
    }
    times.erase(times.begin()); // the first run may compile or fetch something
    return part.rows() > 0 ? gpulab::summarise(times).median : 0;
}

/// The rows of every rank: with equally many non-zeros, or by measured speed. Equal on all ranks.
template <class T>
cg::Split split_over(const Choice& c, cg::Place::On on, const Ranks& ranks, const cg::Problem<T>& problem) {
    const auto count = static_cast<std::size_t>(ranks.count);
    const cg::Split equal = cg::split_rows(problem.matrix, std::vector<double>(count, 1.0));
    if (c.balance != "speed") return equal;
    const cg::Part<T> part = cg::make_part(problem.matrix, equal, static_cast<std::size_t>(ranks.me));
    const double mine =
        cg::slowness_for_tests(ranks) * multiply_ms(*part_on(on, ranks, c.threads, problem, part), part);
    std::vector<double> ms(count);
    MPI_Allgather(&mine, 1, MPI_DOUBLE, ms.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD);
    return cg::split_by_speed(problem.matrix, equal, ms);
}

/// This rank's share of the solution. @param nccl whether the ranks are linked by NCCL
template <class T>
std::unique_ptr<cg::RankSolver<T>> solver_of(cg::Place::On on, [[maybe_unused]] bool nccl, const Ranks& ranks,
                                             std::size_t threads, const cg::Problem<T>& problem,
                                             const cg::Part<T>& part) {
#if defined(GPULAB_WITH_NCCL)
    if (nccl) {
        cg::NcclId id{};
        if (ranks.me == 0) id = cg::make_nccl_id();
        MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
        return cg::make_nccl_solver(problem, part, ranks.me, ranks.count, ranks.local, id);
    }
#endif
    return std::make_unique<cg::HostSolver<T>>(problem, part, part_on(on, ranks, threads, problem, part), ranks.count);
}

/// Whether all ranks have the same history, to the last bit.
bool ranks_agree(const Ranks& ranks, const std::vector<double>& history) {
    std::uint64_t mark = history.size(); // of the bits, because NaN is not equal to NaN
    for (const double norm : history) mark = (mark ^ std::bit_cast<std::uint64_t>(norm)) * 0x100000001b3u;
    std::vector<std::uint64_t> marks(static_cast<std::size_t>(ranks.count));
    MPI_Allgather(&mark, 1, MPI_UINT64_T, marks.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    return std::ranges::all_of(marks, [&](std::uint64_t other) { return other == mark; });
}

/// All elements of x, on rank 0.
template <class T>
std::vector<T> gathered(const Ranks& ranks, const cg::Split& split, const std::vector<T>& own, std::size_t n) {
    std::vector<int> counts, places;
    for (std::size_t i = 0; i < split.parts(); ++i) {
        counts.push_back(static_cast<int>(split.rows(i)));
        places.push_back(static_cast<int>(split.first[i]));
    }
    std::vector<T> x(ranks.me == 0 ? n : 0);
    MPI_Gatherv(own.data(), static_cast<int>(own.size()), cg::mpi_type<T>(), x.data(), counts.data(), places.data(),
                cg::mpi_type<T>(), 0, MPI_COMM_WORLD);
    return x;
}

template <class T> int run(const gpulab::Options& options, const Choice& c, const Ranks& ranks) {
    const bool from_file = !c.matrix.empty();
    const std::string name = from_file ? c.matrix : c.generate;
    cg::Watchdog watchdog(c.patience, ranks.me); // ends after the solver, which may wait for the others when it ends
    std::vector<cg::Place> places(static_cast<std::size_t>(ranks.count));
    cg::Place place;
    together(ranks, watchdog, [&] { place = place_of(c.on, ranks); });
    MPI_Allgather(&place, sizeof place, MPI_BYTE, places.data(), sizeof place, MPI_BYTE, MPI_COMM_WORLD);
    const std::string obstacle = cg::why_not_nccl(places, with_nccl);
    const bool nccl = cg::takes_nccl(c.link, obstacle);

    // Every rank makes the whole system and keeps its part: simple, but all of it must fit into each computer's memory.
    std::optional<cg::Problem<T>> made;
    gpulab::OutputFile solution, history;
    std::optional<gpulab::Report> report;
    together(ranks, watchdog, [&] {
        const cg::MemoryNeed need =
            cg::memory_need<T>(from_file ? gpulab::matrix_market_size(c.matrix) : gpulab::generated_size(c.generate));
        gpulab::check_memory(options, need.device, ranks.on_computer * need.host,
                             ranks.on_computer == 1 ? name : fmt::format("{} in {} ranks", name, ranks.on_computer));
        gpulab::Csr<T> matrix = from_file ? gpulab::read_matrix_market<T>(c.matrix)
                                          : gpulab::generate_matrix<T>(c.generate, options.seed());
        std::vector<T> b =
            c.rhs.empty() ? gpulab::random_vector<T>(matrix.rows, options.seed()) : cg::read_vector<T>(c.rhs);
        std::vector<T> start = c.start.empty() ? std::vector<T>() : cg::read_vector<T>(c.start);
        made = cg::make_problem(std::move(matrix), std::move(b), std::move(start), c.settings, name);
        if (ranks.me != 0) return;
        if (!c.solution.empty()) solution = gpulab::OutputFile(c.solution);
        if (!c.history.empty()) history = gpulab::OutputFile(c.history);
        report.emplace(options, cg::parameters(*made, name, c.settings));
    });
    const cg::Problem<T>& problem = *made;
    if (c.balance == "speed") watchdog.begin(); // the ranks wait for each other
    const cg::Split split = split_over(c, place.on, ranks, problem);
    watchdog.end();
    const cg::Part<T> part = cg::make_part(problem.matrix, split, static_cast<std::size_t>(ranks.me));
    if (nccl) watchdog.begin(); // NCCL waits for all ranks
    const auto solver = solver_of(place.on, nccl, ranks, c.threads, problem, part);

    std::vector<double> times;
    cg::Stopwatch watch = options.stopwatch();
    const int runs = std::min(watch.repeats(), 20);
    watchdog.begin();
    for (int i = 0; i <= runs; ++i) { // the first one is not timed
        solver->reset();
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        solver->solve([&](std::size_t iteration) {
            watchdog.progress();
            cg::fault_for_tests(ranks, iteration);
        });
        MPI_Barrier(MPI_COMM_WORLD);
        if (i > 0) times.push_back(1000 * (MPI_Wtime() - begin));
        int enough = ranks.me == 0 && i >= 3 && i * times.back() > 2000; // the same answer on every rank
        MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (enough) break;
    }
    cg::Output<T> out;
    solver->result(out); // x: this rank's elements
    const bool agreed = ranks_agree(ranks, out.history);
    out.x = gathered(ranks, split, out.x, problem.n());
    watchdog.end(); // rank 0 may take long to judge

    // What each rank had.
    std::string line = fmt::format("rank {}: rows {} to {}, {} non-zeros, halo {}, {}, {}", ranks.me, part.first,
                                   part.first + part.rows(), part.matrix.nonzeros(), part.halo.size(), solver->device(),
                                   solver->link());
    if (c.link == "auto" && place.on == cg::Place::On::cuda && !nccl) line += fmt::format(" ({})", obstacle);
    line.resize(200, ' ');
    std::vector<char> lines(ranks.me == 0 ? 200 * static_cast<std::size_t>(ranks.count) : 0);
    MPI_Gather(line.data(), 200, MPI_CHAR, lines.data(), 200, MPI_CHAR, 0, MPI_COMM_WORLD);
    int code = gpulab::exit_success;
    if (ranks.me == 0) {
        gpulab::Comparison comparison = cg::compare(problem, cg::make_reference(problem), out);
        if (!agreed) comparison.passed = false, comparison.message = "the ranks disagree about the residuals";
        for (int rank = 0; rank < ranks.count; ++rank) {
            std::string of_rank(lines.data() + 200 * rank, 200);
            of_rank.resize(of_rank.find_last_not_of(' ') + 1);
            fmt::print("{}\n", of_rank);
        }
        report->column("iterations", "iterations");
        report->column("us_per_iteration", "us/iteration", "{:.2f}");
        gpulab::Result result;
        result.variant = "mpi";
        result.device = device_of(place.on, ranks); // the other ranks' are taken to be like it
        result.backend = result.device.backend;
        result.devices = cg::count_devices(places);
        result.has_device = true;
        result.status = comparison.passed ? gpulab::Result::Status::passed : gpulab::Result::Status::failed;
        result.reason = comparison.message;
        result.error = comparison.error, result.tolerance = comparison.tolerance;
        result.kernel = gpulab::summarise(times);
        result.extra = {{"iterations", out.iterations()},
                        {"us_per_iteration",
                         1000 * result.kernel.median / static_cast<double>(std::max<std::size_t>(out.iterations(), 1))},
                        {"ranks", ranks.count},
                        {"devices", result.devices},
                        {"on", solver->device()},
                        {"link", nccl ? "nccl" : "host"}};
        report->add(std::move(result), cg::work(problem, out.iterations()));
        cg::Outputs write("cg_mpi"); // every file is tried
        code = gpulab::exit_failure;
        write([&] { code = report->finish(); });
        std::string end = cg::describe_end(problem, out) + "; " + cg::describe_solution(problem, out.x, out.end);
        const bool failed = out.end == cg::End::not_positive || out.end == cg::End::not_finite;
        const bool unsolved = problem.stop_at > 0 && out.end != cg::End::converged;
        if (solution && (failed || unsolved)) {
            const cg::Best<T> best = cg::best_so_far(problem, out);
            if (write([&] { solution.write(cg::to_matrix_market(best.x)); }))
                end += fmt::format("; {} has x after iteration {}", c.solution, best.iteration);
        } else if (solution) write([&] { solution.write(cg::to_matrix_market(out.x)); });
        if (history)
            write([&] {
                history.write(cg::history_csv({{fmt::format("mpi on {} ranks", ranks.count), out.history}}));
            });
        if (!write.all_written()) code = gpulab::exit_failure;
        const bool lost = problem.stop_at > 0 && cg::is_no_solution(problem, out.x);
        if (failed || unsolved || lost) {
            fmt::print(stderr, "cg_mpi: {}: {}\n", name, end);
            code = failed ? gpulab::exit_failure : gpulab::exit_wrong_result;
        } else fmt::print("\n{}\n", end);
        std::fflush(stdout);
    }
    // The others sleep until then: MPI's own waiting would keep their cores busy while rank 0 measures the copy
    // bandwidth.
    MPI_Request told = MPI_REQUEST_NULL;
    MPI_Ibcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD, &told);
    for (int done = 0; !done; MPI_Test(&told, &done, MPI_STATUS_IGNORE))
        if (ranks.me != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return code;
}

int with_ranks(int argc, char** argv, const Ranks& ranks) {
    Choice c;
    gpulab::Options options("cg_mpi", "A x = b by conjugate gradients, on several processes (mpirun -np 4 cg_mpi)");
    options.input("--matrix", c.matrix, "A: this Matrix Market file; every computer must have it");
    options.text("--generate", c.generate, std::string("A: generated [laplace2d:100]: ") + gpulab::generator_help);
    options.input("--rhs", c.rhs, "b: this Matrix Market file [random numbers]");
    options.input("--start", c.start, "the first x: this Matrix Market file [zero]");
    options.output("--solution", c.solution, "write x to this Matrix Market file");
    options.output("--history", c.history, "write the norm of the residual of every iteration to this file (CSV)");
    options.number("--tolerance", c.settings.tolerance, 0, 1e300,
                   "wanted norm of the residual; 0: all --limit iterations");
    options.choice("--criterion", c.criterion, {"relative", "absolute"},
                   "the tolerance counts relative to the norm of b, or not");
    options.size("--limit", c.settings.limit, 1, "iterations at most", 100'000'000);
    options.choice("--method", c.method, {"cg", "steepest"}, "conjugate gradients, or steepest descent for comparison");
    options.choice("--preconditioner", c.preconditioner, {"none", "jacobi"}, "jacobi divides by the diagonal");
    options.choice("--type", c.type, {"float", "double"}, "type of the numbers");
    options.choice("--on", c.on, {"auto", "cpu", "opencl", "cuda"},
                   "where a rank computes; auto: a GPU if there is one, else the CPU");
    options.choice("--link", c.link, {"auto", "host", "nccl"},
                   "how ranks send halo and sums: host, through host memory by MPI; nccl, from GPU to GPU; auto: nccl "
                   "where every rank has a GPU of its own, else host");
    options.size("--threads", c.threads, 1, "threads of each rank on the CPU", 1024);
    options.choice("--balance", c.balance, {"nnz", "speed"},
                   "the rows of a rank: equally many non-zeros, or by the speed at which it multiplies");
    options.number("--patience", c.patience, 1, 1e6, "seconds without an iteration after which a rank gives up");
    if (!options.parse(argc, argv)) return gpulab::exit_success;
    for (const char* const name : {"--backend", "--device", "--flush-l2"})
        if (options.given(name)) throw gpulab::UsageError(fmt::format("{}: --on says where ranks compute", name));
    if (!c.matrix.empty() && options.given("--generate"))
        throw gpulab::UsageError("--matrix and --generate: give only one of them");
    if (options.given("--threads") && c.on != "cpu" && c.on != "auto")
        throw gpulab::UsageError("--threads: is for ranks on the CPU (--on cpu)");
    c.settings.method = c.method == "steepest" ? cg::Method::steepest_descent : cg::Method::conjugate_gradients;
    c.settings.jacobi = c.preconditioner == "jacobi";
    c.settings.balance = c.balance == "speed" ? cg::Balance::speed : cg::Balance::nonzeros;
    c.settings.absolute = c.criterion == "absolute";
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
    } catch (
        const gpulab::UsageError&) { // of the arguments, which every rank has, or of together(): all end by themselves
        if (ranks.me == 0) code = gpulab::fail("cg_mpi");
    } catch (...) {
        gpulab::fail(fmt::format("cg_mpi: rank {}", ranks.me));
        MPI_Abort(MPI_COMM_WORLD, gpulab::exit_failure); // the others may wait for this one
    }
    MPI_Finalize();
    return code;
}
