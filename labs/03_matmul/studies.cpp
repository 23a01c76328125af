#include "studies.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <span>

#include "gpulab/growth.hpp"
#include "gpulab/metrics.hpp"
#include "gpulab/too_slow.hpp"
#include "needs.hpp"

namespace matmul {

using gpulab::Backend;
using gpulab::Device;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;
using gpulab::Work;

namespace {

/// Rungs on the CPU, OpenCL on it included, run up to 2^31 operations (n = 1024): a few seconds for the slowest.
constexpr double patience_flops = 2147483648.0;

/// What a product costs a CPU, in operations. An element of C takes the time of some 64 operations, however short its
/// sum is: for a task of its own, the division of its index and a write.
template <class T> double cost(const Problem<T>& p) {
    return std::max(p.flops(), 64.0 * static_cast<double>(p.m) * static_cast<double>(p.n));
}

/// One job: runs it, and compares what it leaves in c.
template <class T>
Result run_job(const Options& options, Report& report, const gpulab::Job<Run<T>>& job, const Problem<T>& problem,
               const Output<T>& reference, Output<T>& c) {
    report.doing(job.variant.name);
    const InputError error = input_error(job.variant.name);
    return gpulab::run(job, problem, c, options, [&] { return compare(problem, reference, c, error); });
}

/// All chosen variants on one shape. The baselines run first, so that each CUDA row can show its percentage of the one
/// in its precision.
/// @param so_far for a study of many shapes: only cuda_by_shape and the library run, unless the user chose others, and
///        each row also has the geometric mean and the least of the percentages up to it
template <class T>
void every_variant(const Options& options, Report& report, std::size_t m, std::size_t k, std::size_t n,
                   std::map<std::string, Percents>* so_far = nullptr) {
    report.begin({{"m", m}, {"k", k}, {"n", n}, {"type", sizeof(T) == 4 ? "float" : "double"}});
    Problem<T> problem{m, k, n, {}, {}};
    auto jobs = gpulab::jobs(variants<T>(), options);
    if (so_far && options.chosen_variants().empty())
        std::erase_if(jobs, [](const auto& job) {
            return job.variant.name != "cuda_by_shape" && job.variant.name != "cuda_cublas";
        });
    std::stable_partition(jobs.begin(), jobs.end(), [](const auto& job) { return job.variant.baseline; });
    std::map<std::string, double> baseline_ms; // by name and device
    for (auto& job : jobs)
        if (job.skip.empty()) job.skip = too_slow(options, job.variant.name, job.device(), problem);
    Output<T> reference, c; // not needed when nothing runs
    if (std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return job.skip.empty(); })) {
        problem = make_problem<T>(m, k, n, options.seed());
        reference = reference_product(problem);
        if (!so_far) report.sequential(sequential(problem));
        c.resize(problem.size());
    }
    for (const auto& job : jobs) {
        Result r = run_job(options, report, job, problem, reference, c);
        add_percent(r, job.variant.baseline, baseline_ms, so_far);
        report.add(std::move(r), work(problem));
    }
}

/// Time per operation of square matrices from 16 x 16 on, as far as memory and patience go.
template <class T> void growth(const Options& options, Report& report, std::size_t most) {
    gpulab::Growth growth(options, report, "operation",
                          {"cpu_blocked", "cpu_threads", "opencl_local_tile", "opencl_register_tile",
                           "cuda_shared_static", "cuda_by_shape", "cuda_cublas"});
    report.column("n", "n");
    for (const std::size_t n : growth.sizes("--n", most, 16, 2, max_rows)) {
        const double side = static_cast<double>(n), bytes = 3 * sizeof(T) * side * side;
        const Problem<T> sizes{n, n, n, {}, {}};
        if (!growth.fits(fmt::format("n = {}", n), sizes.flops(), bytes, 2 * bytes)) break;
        const Problem<T> problem = make_problem<T>(n, n, n, options.seed());
        const Output<T> reference = reference_product(problem);
        Output<T> c(problem.size());
        report.begin({{"n", n}, {"type", sizeof(T) == 4 ? "float" : "double"}});
        for (const auto& job : growth.jobs(variants<T>())) {
            Result r = run_job(options, report, job, problem, reference, c);
            growth.add_to(r);
            report.add(std::move(r), work(problem));
        }
    }
}

template <class T> void ladder(const Options& options, Report& report) {
    for (const std::size_t n : {1024, 2048, 4096}) every_variant<T>(options, report, n, n, n);
}

struct Shape {
    std::size_t m, k, n;
};

/// Shapes of 2 x 2048^3 operations each: square, tall (C has few columns), flat (few rows), deep (long sums) and thin
/// (short sums); and one of about as many whose sides no tile divides.
constexpr Shape shapes[] = {{2048, 2048, 2048}, {65536, 1024, 128}, {128, 1024, 65536},
                            {256, 131072, 256}, {16384, 32, 16384}, {2047, 2049, 2053}};

template <class T> void shape(const Options& options, Report& report) {
    for (const Shape& s : shapes) every_variant<T>(options, report, s.m, s.k, s.n);
}

/// Small, thin and long products, with sides of all kinds: where libraries and tiles are not tuned.
constexpr Shape odd_shapes[] = {
    {1, 1, 1},          {7, 5, 3},          {17, 33, 9},        {31, 100, 31},      {64, 64, 64},
    {100, 100, 100},    {129, 127, 131},    {200, 300, 250},    {256, 256, 256},    {333, 333, 333},
    {500, 500, 500},    {511, 513, 509},    {768, 768, 768},    {1000, 1000, 1000}, {1023, 1025, 1021},
    {1500, 1500, 1500}, {2000, 2000, 2000}, {3001, 2999, 3003}, {5000, 5000, 5000}, {1, 5000, 5000},
    {5000, 5000, 1},    {2, 4096, 4096},    {4096, 4096, 2},    {5, 3000, 4000},    {3999, 2500, 7},
    {8, 5000, 5000},    {5000, 4000, 16},   {16, 1000, 5000},   {33, 5000, 33},     {5000, 17, 5000},
    {5000, 1, 5000},    {4097, 4, 4095},    {1, 5000, 1},       {3, 5000, 3},       {100, 5000, 100},
    {300, 5000, 20},    {64, 5000, 1000},   {5000, 64, 128},    {5000, 1000, 50},   {4000, 3, 10}};

template <class T> void odd(const Options& options, Report& report) {
    report.column("mean_of_percents", "mean");
    report.column("min_percent", "least");
    std::map<std::string, Percents> percents;
    for (const Shape& s : odd_shapes) every_variant<T>(options, report, s.m, s.k, s.n, &percents);
}

/// Registers against occupancy: one kernel, compiled for one to four blocks on a multiprocessor at a time. The more of
/// them, the fewer registers a thread may have.
void registers(const Options& options, Report& report, std::size_t n) {
    const std::vector<Device> found = gpulab::study_devices(options, {Backend::cuda});
    const Problem<float> problem = make_problem<float>(n, n, n, options.seed());
    const Output<float> reference = reference_product(problem);
    Output<float> c(problem.size());
    report.column("blocks wanted", "wanted");
    report.column("registers", "registers");
    report.column("local_bytes", "local B");
    report.column("occupancy_percent", "occupancy", "{:.0f}");
    for (const int resident : {1, 2, 3, 4}) {
        report.begin({{"n", n}, {"blocks wanted", resident}});
        report.sequential(sequential(problem));
        for (const Device& device : found) {
            Result result = gpulab::measure(
                "cuda_resident", device, c, options,
                [&]([[maybe_unused]] Output<float>& out, [[maybe_unused]] Stopwatch& watch) {
#if defined(GPULAB_WITH_CUDA)
                    cuda_resident(problem, out, watch, resident);
#endif
                },
                [&] { return compare(problem, reference, c); });
#if defined(GPULAB_WITH_CUDA)
            gpulab::use(device);
            const Registers r = cuda_registers(resident);
            result.extra = {{"registers", r.per_thread},
                            {"local_bytes", r.local_bytes},
                            {"blocks_per_sm", r.blocks_per_sm},
                            {"occupancy_percent", r.occupancy_percent}};
#endif
            report.add(std::move(result), work(problem));
        }
    }
}

/// A kernel of the study `tile`.
template <class T> using TileRun = void(const Problem<T>& p, Output<T>& c, Stopwatch& watch, Tile tile);

/// Sizes and shapes of the shared tile (exercise 2.5 of the book).
template <class T> void tile(const Options& options, Report& report, std::size_t n) {
    const std::vector<Device> found = gpulab::study_devices(options, {Backend::cuda});
    const Problem<T> problem = make_problem<T>(n, n, n, options.seed());
    const Output<T> reference = reference_product(problem);
    const gpulab::Sequential reference_time = sequential(problem);
    Output<T> c(problem.size());
    for (const char* const side : {"rows", "columns", "depth"}) report.column(side, side);
    for (const Tile t : {Tile{4, 4, 4}, Tile{8, 8, 8}, Tile{16, 16, 16}, Tile{32, 32, 32}, Tile{32, 32, 16},
                         Tile{16, 16, 32}, Tile{8, 32, 32}, Tile{32, 8, 32}, Tile{4, 64, 32}, Tile{64, 4, 32},
                         Tile{16, 64, 16}, Tile{64, 16, 16}, Tile{8, 128, 16}, Tile{1, 256, 32}, Tile{256, 1, 32}}) {
        report.begin({{"n", n},
                      {"rows", t.rows},
                      {"columns", t.columns},
                      {"depth", t.depth},
                      {"type", sizeof(T) == 4 ? "float" : "double"}});
        report.sequential(reference_time);
        for (const Device& device : found) {
            const auto add = [&](std::string_view name, TileRun<T>* run) {
                Result result = gpulab::measure(
                    name, device, c, options,
                    [&](Output<T>& out, Stopwatch& watch) {
                        if (!run) throw gpulab::Unsupported("built without CUDA");
                        run(problem, out, watch, t);
                    },
                    [&] { return compare(problem, reference, c); });
                report.add(std::move(result), work(problem));
            };
            add("cuda_tile", GPULAB_IF_CUDA(cuda_tile<T>));
            // The same tile with its size compiled in, to show what choosing it at the launch costs.
            if (t.rows == t.columns && t.rows == t.depth && t.rows >= 8)
                add("cuda_static_tile", GPULAB_IF_CUDA(cuda_static_tile<T>));
        }
    }
}

} // namespace

std::vector<gpulab::StudySummary> study_list() {
    return {{"growth", "time per operation, from 16 x 16 to as large as fits or --n", {"--n", "--type"}},
            {"ladder", "all rungs at n = 1024, 2048 and 4096, in percent of the library", {"--type"}},
            {"tile", "sizes and shapes of the tile in shared memory, for n x n matrices", {"--n", "--type"}},
            {"registers", "registers against occupancy, for n x n matrices", {"--n"}},
            {"shape", "square, tall, flat, deep and thin products with the same work", {"--type"}},
            {"odd", "40 products with small, thin and odd sides, in percent of the library", {"--type"}}};
}

double max_elements(const std::string& study, std::size_t n) {
    if (study == "growth") return 0; // it ends where memory does
    if (study == "ladder") return 3 * 4096.0 * 4096.0;
    if (study == "tile" || study == "registers") return 3 * static_cast<double>(n) * static_cast<double>(n);
    double most = 0;
    for (const Shape& s : study == "odd" ? std::span<const Shape>(odd_shapes) : std::span<const Shape>(shapes))
        most = std::max(most, static_cast<double>(s.m * s.k + s.k * s.n + s.m * s.n));
    return most;
}

void add_percent(Result& result, bool baseline, std::map<std::string, double>& baseline_ms,
                 std::map<std::string, Percents>* so_far) {
    if (result.kernel.repeats == 0) return; // it did not run
    const auto here = [&](std::string_view name) { return fmt::format("{} {}", name, result.device.id()); };
    if (baseline) baseline_ms[here(result.variant)] = result.kernel.median;
    const bool on_cpu = result.variant.starts_with("cpu_");
    const auto library = baseline_ms.find(here(on_cpu ? "cpu_openblas" : library_of(result.variant)));
    if (library == baseline_ms.end()) return;
    const double percent = gpulab::percent_of_library(library->second, result.kernel.median);
    result.extra = {{"percent_of_library", percent}};
    if (!so_far || !(percent > 0)) return;
    Percents& all = (*so_far)[here(result.variant)];
    all.logarithms += std::log(percent);
    all.least = all.count++ == 0 ? percent : std::min(all.least, percent);
    result.extra.push_back({"mean_of_percents", std::exp(all.logarithms / all.count)});
    result.extra.push_back({"min_percent", all.least});
}

template <class T> Work work(const Problem<T>& p) {
    return {.bytes = p.bytes(), .flops = p.flops(), .arithmetic = arithmetic<T>()};
}

template <class T> void check_memory(const Options& options, double elements) {
    gpulab::check_memory(options, sizeof(T) * elements, 2 * sizeof(T) * elements);
}

template <class T> int run_study(const Options& options, std::size_t n) {
    check_memory<T>(options, max_elements(options.study(), n));
    Report report(options);
    if (options.study() != "growth") report.column("percent_of_library", "% library");
    if (options.study() == "growth") growth<T>(options, report, n);
    else if (options.study() == "ladder") ladder<T>(options, report);
    else if (options.study() == "tile") tile<T>(options, report, n);
    else if (options.study() == "registers") registers(options, report, n);
    else if (options.study() == "odd") odd<T>(options, report);
    else shape<T>(options, report);
    return report.finish();
}

template <class T>
std::string too_slow(const Options& options, std::string_view variant, const Device& device, const Problem<T>& p) {
    if (cost(p) <= patience_flops) return "";
    return gpulab::too_slow_on_cpu(
        options, variant, device,
        fmt::format("{:.3g} operations for {:.3g} elements", p.flops(), static_cast<double>(p.size())));
}

template <class T> gpulab::Sequential sequential(const Problem<T>& p) {
    if (cost(p) > patience_flops) return {};
    Output<T> c(p.size());
    return gpulab::sequential(variants<T>(), "cpu_ijk", p, c, Stopwatch(0, 1));
}

template std::string too_slow(const Options&, std::string_view, const Device&, const Problem<float>&);
template std::string too_slow(const Options&, std::string_view, const Device&, const Problem<double>&);
template Work work(const Problem<float>&);
template Work work(const Problem<double>&);
template void check_memory<float>(const Options&, double);
template void check_memory<double>(const Options&, double);
template int run_study<float>(const Options&, std::size_t);
template int run_study<double>(const Options&, std::size_t);
template gpulab::Sequential sequential(const Problem<float>&);
template gpulab::Sequential sequential(const Problem<double>&);

} // namespace matmul
