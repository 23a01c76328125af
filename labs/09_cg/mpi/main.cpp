/// @file
/// Lab 09 on several computers: each process has a range of rows and a device of its own, and tells the others by MPI.
///
/// MPI is a library for programs that run as several processes, the *ranks*, on one computer or on many: `mpirun -np 4
/// cg_mpi` starts four. A rank knows its number and sends numbers to others. Here it sends the halo, and shares of
/// sums.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <mpi.h>
#include <thread>

#include "../files.hpp"
#include "../runs.hpp"
#include "../scalars.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/input.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "rank_part.hpp"

namespace {

/// What the user asked for.
struct Choice {
    std::string matrix, generate = "laplace2d:100", rhs, start, solution;
    std::string type = "double", method = "cg", preconditioner = "none", criterion = "relative", on = "auto";
    double patience = 120;
    cg::Settings settings;
};

/// This process among all of them.
struct Ranks {
    int me = 0, count = 1, local = 0; ///< local: among those of this computer
};

/// Ends the program when it makes no progress: a rank that hangs, or one whose neighbour does not answer. mpirun then
/// ends the other ranks.
class Watchdog {
public:
    Watchdog(double seconds, int rank)
        : rank_(rank), thread_([this, seconds](const std::stop_token& stop) { watch(seconds, stop); }) {}
    void progress() { ++count_; }

private:
    void watch(double seconds, const std::stop_token& stop) {
        using Clock = std::chrono::steady_clock;
        auto last = Clock::now();
        std::uint64_t seen = 0;
        while (!stop.stop_requested()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            if (const std::uint64_t now = count_; now != seen) seen = now, last = Clock::now();
            if (std::chrono::duration<double>(Clock::now() - last).count() > seconds) {
                fmt::print(stderr, "cg_mpi: rank {}: no progress for {} s; another rank does not answer\n", rank_,
                           seconds);
                std::fflush(stderr);
                std::_Exit(gpulab::exit_failure);
            }
        }
    }
    std::atomic<std::uint64_t> count_ = 0;
    int rank_;
    std::jthread thread_;
};

/// For tests: CG_MPI_FAULT=die:RANK or stop:RANK makes that rank end, or stop without an end, in its third iteration.
void fault_for_tests(const Ranks& ranks, std::size_t iteration) {
    const char* const wish = std::getenv("CG_MPI_FAULT");
    if (!wish || iteration != 2) return;
    if (wish == fmt::format("die:{}", ranks.me)) std::raise(SIGKILL);
    while (wish == fmt::format("stop:{}", ranks.me)) std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// The sum of one number per rank. Every rank adds in the same order, so all have the same sum to the last bit.
template <class Sums> Sums over_ranks(const Ranks& ranks, const Sums& mine) {
    constexpr int numbers = sizeof(Sums) / sizeof(double);
    std::vector<Sums> all(static_cast<std::size_t>(ranks.count));
    MPI_Allgather(&mine, numbers, MPI_DOUBLE, all.data(), numbers, MPI_DOUBLE, MPI_COMM_WORLD);
    Sums sum{};
    for (const Sums& share : all)
        for (int k = 0; k < numbers; ++k)
            reinterpret_cast<double*>(&sum)[k] += reinterpret_cast<const double*>(&share)[k];
    return sum;
}
struct OneSum {
    double value = 0;
};

template <class T> constexpr MPI_Datatype mpi_type() { return sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT; }

/// The whole solution. out receives history and end.
template <class T>
void solve(const Ranks& ranks, const cg::Problem<T>& problem, const cg::Part<T>& part, cg::RankPart<T>& device,
           cg::Output<T>& out, Watchdog& watchdog) {
    std::vector<T> to_send(part.send.size()), halo(part.halo.size());
    const auto multiply = [&] {
        std::vector<MPI_Request> requests;
        for (const auto& link : part.receives)
            MPI_Irecv(halo.data() + link.begin, static_cast<int>(link.count), mpi_type<T>(),
                      static_cast<int>(link.part), 0, MPI_COMM_WORLD, &requests.emplace_back());
        device.pack(to_send.data());
        for (const auto& link : part.sends)
            MPI_Isend(to_send.data() + link.begin, static_cast<int>(link.count), mpi_type<T>(),
                      static_cast<int>(link.part), 0, MPI_COMM_WORLD, &requests.emplace_back());
        device.multiply_inner(); // while the halo travels
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        return over_ranks(ranks, OneSum{device.multiply_border(halo.data())}).value;
    };
    cg::Scalars<T> scalars(problem, out);
    multiply(); // p holds x_0 here
    cg::ResidualSums sums = over_ranks(ranks, device.update(T{1}, true));
    scalars.begin(sums.rr, sums.rho);
    device.next_p(T{0});
    while (scalars.wants_more()) {
        fault_for_tests(ranks, out.iterations());
        if (!scalars.accepts(multiply())) break;
        sums = over_ranks(ranks, device.update(static_cast<T>(scalars.alpha()), false));
        scalars.next(sums.rr, sums.rho);
        device.next_p(static_cast<T>(scalars.beta()));
        watchdog.progress();
    }
}

/// Where this rank computes.
template <class T>
std::unique_ptr<cg::RankPart<T>> device_of(const std::string& on, const Ranks& ranks, const cg::Problem<T>& problem,
                                           const cg::Part<T>& part) {
    const bool cuda = !gpulab::devices(gpulab::Backend::cuda).empty();
#if defined(GPULAB_WITH_CUDA)
    if (on == "cuda" || (on == "auto" && cuda)) return cg::make_cuda_part(problem, part, ranks.local);
#else
    if (on == "cuda" && !cuda) throw gpulab::UsageError("--on cuda: " + gpulab::why_no_devices(gpulab::Backend::cuda));
#endif
#if defined(GPULAB_WITH_OPENCL)
    if (on == "opencl") return cg::make_opencl_part(problem, part, ranks.local);
#else
    if (on == "opencl") throw gpulab::UsageError("--on opencl: " + gpulab::why_no_devices(gpulab::Backend::opencl));
#endif
    return cg::make_cpu_part(problem, part);
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
    MPI_Gatherv(own.data(), static_cast<int>(own.size()), mpi_type<T>(), x.data(), counts.data(), places.data(),
                mpi_type<T>(), 0, MPI_COMM_WORLD);
    return x;
}

template <class T> int run(const gpulab::Options& options, const Choice& c, const Ranks& ranks) {
    const bool from_file = !c.matrix.empty();
    const std::string name = from_file ? c.matrix : c.generate;
    gpulab::OutputFile solution;
    if (!c.solution.empty() && ranks.me == 0) solution = gpulab::OutputFile(c.solution);
    // Every rank makes the whole system and keeps its part: simple, but all of it must fit into each computer's memory.
    gpulab::Csr<T> matrix =
        from_file ? gpulab::read_matrix_market<T>(c.matrix) : gpulab::generate_matrix<T>(c.generate, options.seed());
    std::vector<T> b =
        c.rhs.empty() ? gpulab::random_vector<T>(matrix.rows, options.seed()) : cg::read_vector<T>(c.rhs);
    std::vector<T> start = c.start.empty() ? std::vector<T>() : cg::read_vector<T>(c.start);
    const cg::Problem<T> problem =
        cg::make_problem(std::move(matrix), std::move(b), std::move(start), c.settings, name);
    const cg::Split split =
        cg::split_rows(problem.matrix, std::vector<double>(static_cast<std::size_t>(ranks.count), 1.0));
    const cg::Part<T> part = cg::make_part(problem.matrix, split, static_cast<std::size_t>(ranks.me));
    const auto device = device_of(c.on, ranks, problem, part);

    cg::Output<T> out;
    std::vector<double> times;
    {
        Watchdog watchdog(c.patience, ranks.me);
        cg::Stopwatch watch = options.stopwatch();
        const int runs = std::min(watch.repeats(), 20);
        for (int i = 0; i <= runs; ++i) { // the first one is not timed
            device->reset();
            MPI_Barrier(MPI_COMM_WORLD);
            const double begin = MPI_Wtime();
            solve(ranks, problem, part, *device, out, watchdog);
            MPI_Barrier(MPI_COMM_WORLD);
            if (i > 0) times.push_back(1000 * (MPI_Wtime() - begin));
            int enough = ranks.me == 0 && i >= 3 && i * times.back() > 2000; // the same answer on every rank
            MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
            if (enough) break;
        }
    }
    std::vector<T> own(part.rows());
    device->solution(own.data());
    out.x = gathered(ranks, split, own, problem.n());

    // What each rank had.
    std::string line =
        fmt::format("rank {}: rows {} to {}, {} non-zeros, halo {}, {}", ranks.me, part.first, part.first + part.rows(),
                    part.matrix.nonzeros(), part.halo.size(), device->device());
    line.resize(200, ' ');
    std::vector<char> lines(ranks.me == 0 ? 200 * static_cast<std::size_t>(ranks.count) : 0);
    MPI_Gather(line.data(), 200, MPI_CHAR, lines.data(), 200, MPI_CHAR, 0, MPI_COMM_WORLD);
    int code = gpulab::exit_success;
    if (ranks.me == 0) {
        const gpulab::Comparison comparison = cg::compare(problem, cg::make_reference(problem), out);
        gpulab::Report report(options, cg::parameters(problem, name, c.settings));
        for (int rank = 0; rank < ranks.count; ++rank) {
            std::string of_rank(lines.data() + 200 * rank, 200);
            of_rank.resize(of_rank.find_last_not_of(' ') + 1);
            fmt::print("{}\n", of_rank);
        }
        report.column("iterations", "iterations");
        report.column("us_per_iteration", "us/iteration", "{:.2f}");
        gpulab::Result result;
        result.variant = "mpi";
        result.device = gpulab::devices(gpulab::Backend::cpu).front();
        result.devices = static_cast<std::size_t>(ranks.count);
        result.has_device = true;
        result.status = comparison.passed ? gpulab::Result::Status::passed : gpulab::Result::Status::failed;
        result.reason = comparison.message;
        result.error = comparison.error, result.tolerance = comparison.tolerance;
        result.kernel = gpulab::summarise(times);
        result.extra = {{"iterations", out.iterations()},
                        {"us_per_iteration",
                         1000 * result.kernel.median / static_cast<double>(std::max<std::size_t>(out.iterations(), 1))},
                        {"ranks", ranks.count},
                        {"on", device->device()}};
        report.add(std::move(result), cg::work(problem, out.iterations()));
        code = report.finish();
        const std::string end = fmt::format("{}; b - A x has a norm of {:.3g}", cg::describe_end(problem, out),
                                            cg::true_residual(problem, out.x));
        if (solution) solution.write(cg::to_matrix_market(out.x));
        if (out.end == cg::End::converged || out.end == cg::End::exhausted || problem.stop_at == 0)
            fmt::print("\n{}\n", end);
        else {
            fmt::print(stderr, "cg_mpi: {}: {}\n", name, end);
            code = out.end == cg::End::limit ? gpulab::exit_wrong_result : gpulab::exit_failure;
        }
        std::fflush(stdout);
    }
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
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
    options.number("--tolerance", c.settings.tolerance, 0, 1e300,
                   "wanted norm of the residual; 0: all --limit iterations");
    options.choice("--criterion", c.criterion, {"relative", "absolute"},
                   "the tolerance counts relative to the norm of b, or not");
    options.size("--limit", c.settings.limit, 1, "iterations at most", 100'000'000);
    options.choice("--method", c.method, {"cg", "steepest"}, "conjugate gradients, or steepest descent for comparison");
    options.choice("--preconditioner", c.preconditioner, {"none", "jacobi"}, "jacobi divides by the diagonal");
    options.choice("--type", c.type, {"float", "double"}, "type of the numbers");
    options.choice("--on", c.on, {"auto", "cpu", "opencl", "cuda"},
                   "where a rank computes; auto: a GPU if there is one, else a core");
    options.number("--patience", c.patience, 1, 1e6, "seconds without an iteration after which a rank gives up");
    if (!options.parse(argc, argv)) return gpulab::exit_success;
    if (!c.matrix.empty() && options.given("--generate"))
        throw gpulab::UsageError("--matrix and --generate: give only one of them");
    c.settings.method = c.method == "steepest" ? cg::Method::steepest_descent : cg::Method::conjugate_gradients;
    c.settings.jacobi = c.preconditioner == "jacobi";
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
    MPI_Comm_free(&here);
    // One rank speaks for all; what all of them refuse alike is said once.
    if (ranks.me != 0 && !std::freopen("/dev/null", "w", stdout)) return gpulab::exit_failure;
    int code = gpulab::exit_failure;
    try {
        code = with_ranks(argc, argv, ranks);
    } catch (
        const gpulab::UsageError&) { // of the arguments and the files, which every rank reads: all end by themselves
        if (ranks.me == 0) code = gpulab::fail("cg_mpi");
    } catch (...) {
        gpulab::fail(fmt::format("cg_mpi: rank {}", ranks.me));
        MPI_Abort(MPI_COMM_WORLD, gpulab::exit_failure); // the others may wait for this one
    }
    MPI_Finalize();
    return code;
}
