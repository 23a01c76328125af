#include "studies.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "distances.hpp"
#include "gpulab/gpus_first.hpp"
#include "gpulab/growth.hpp"
#include "gpulab/input.hpp"
#include "gpulab/metrics.hpp"
#include "gpulab/parallel.hpp"
#include "needs.hpp"

namespace saxpy {

using gpulab::Backend;
using gpulab::Device;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;
using gpulab::Work;

namespace {

/// What a study gets.
struct Given {
    const Options& options;
    Report& report;
    std::size_t n;
    const StudyKernels& kernels;
};

/// The OpenCL and CUDA devices that the user chose: most studies have no kernels for the CPU back end.
std::vector<Device> kernel_devices(const Options& options) {
    return gpulab::study_devices(options, {Backend::opencl, Backend::cuda});
}

std::string name_on(const Device& device, const char* kernel) {
    return fmt::format("{}_{}", name_of(device.backend), kernel);
}

/// A problem, its reference, and the time of the sequential CPU variant.
struct Case {
    Case(const Options& its_options, std::size_t n)
        : options(its_options), problem(make_problem(n, options.seed())), reference(n), c(n),
          sequential(gpulab::sequential(variants(), "cpu_sequential", problem, reference, Stopwatch(1, 5))) {}

    /// Runs and checks `run(problem, c, watch, parameter...)`.
    template <class Kernel, class... Parameter>
    Result measure(const std::string& name, const Device& device, Kernel* run, Parameter... parameter) {
        return gpulab::measure(
            name, device, c, options, [&](Output& out, Stopwatch& watch) { run(problem, out, watch, parameter...); },
            [&] { return compare(problem, reference, c); });
    }

    const Options& options;
    Problem problem;
    Output reference, c;
    gpulab::Sequential sequential;
};

/// Tables 2.1 and 2.2 of the book: n = 10^2 ... 10^7, the kernel alone, and the kernel with the copies before and after
/// it. The total, with allocation and all else, stands beside the latter. Times are in milliseconds. (The book's
/// headings say milliseconds too, but its numbers are seconds.)
void table(const Given& g, bool with_transfers) {
    g.report.quiet(true);
    std::vector<std::pair<std::size_t, Result>> rows; // with their n
    for (std::size_t n = 100; n <= 10'000'000; n *= 10) {
        Case c(g.options, n);
        g.report.begin({{"n", n}});
        g.report.sequential(c.sequential);
        for (const Device& device : kernel_devices(g.options)) {
            const bool cuda = device.backend == Backend::cuda;
            const char* const rung = cuda ? "cuda_many_blocks" : "opencl_one_item";
            const KernelOf<Run> copies = {GPULAB_IF_CUDA(cuda_copies_and_kernel),
                                          GPULAB_IF_OPENCL(opencl_copies_and_kernel)};
            Result r = with_transfers ? c.measure(name_on(device, "copies_and_kernel"), device, copies.on(device))
                                      : c.measure(rung, device, gpulab::run_of(variants(), rung));
            // The files hold the columns of the printed table beside those of every run.
            const double flops = work(n).flops, one_core_ms = c.sequential.ms, ms = r.kernel.median;
            r.extra = {{"sequential_ms", one_core_ms},
                       {"parallel_ms", ms},
                       {"table_speedup", gpulab::speedup(one_core_ms, ms)},
                       {"sequential_gflop_per_s", gpulab::gflop_per_s(flops, one_core_ms)},
                       {"parallel_gflop_per_s", gpulab::gflop_per_s(flops, ms)}};
            Work of_row = work(n);
            if (with_transfers) of_row.bytes = 0; // most of the time passes on the link, not in the device's memory
            rows.emplace_back(n, g.report.add(std::move(r), of_row));
        }
    }
    for (const Device& device : kernel_devices(g.options)) {
        const std::string title =
            fmt::format("{}  {}, {}", device.id(), device.name, with_transfers ? "copies and kernel" : "kernel only");
        fmt::print("\n{}", gpulab::wrapped(title, gpulab::terminal_of_stdout().columns, 0, 4));
        fmt::print("{:>49} {:>17}\n", "", "GFLOP/s");
        fmt::print("{:>8} {:>13} {:>13} {:>10} {:>10} {:>9}{}\n", "n", "sequential ms",
                   with_transfers ? "parallel ms" : "kernel ms", "speed-up", "sequential", "parallel",
                   with_transfers ? fmt::format(" {:>11}", "total ms") : "");
        for (const auto& [n, result] : rows) {
            if (result.device.id() != device.id()) continue;
            const auto figure = [&](std::size_t k) { return std::get<double>(result.extra[k].value); };
            fmt::print("{:>8} {:>13.6f} {:>13.6f} {:>10.4f} {:>10.2f} {:>9.2f}{}\n", n, figure(0), figure(1), figure(2),
                       figure(3), figure(4), with_transfers ? fmt::format(" {:>11.6f}", result.total_ms) : "");
        }
    }
}

/// Block sizes 32 ... 1024, with the occupancy that the CUDA runtime computes.
void block_size(const Given& g) {
    g.report.column("threads per block", "threads");
    if (!g.options.devices(Backend::cuda).empty()) { // OpenCL has no such query
        g.report.column("occupancy_percent", "occupancy");
        g.report.column("blocks_per_sm", "blocks/SM");
        g.report.column("warps_per_sm", "warps/SM");
    }
    Case c(g.options, g.n);
    for (unsigned threads = 32; threads <= 1024; threads *= 2) {
        g.report.begin({{"n", g.n}, {"threads per block", threads}});
        g.report.sequential(c.sequential);
        for (const Device& device : kernel_devices(g.options)) {
            Result r = c.measure(name_on(device, "block_size"), device, g.kernels.block_size.on(device), threads);
#if defined(GPULAB_WITH_CUDA)
            if (device.backend == Backend::cuda) {
                gpulab::use(device);
                const BlockOccupancy o = cuda_block_occupancy(threads);
                r.extra = {{"blocks_per_sm", o.blocks_per_sm},
                           {"warps_per_sm", o.warps_per_sm},
                           {"occupancy_percent", o.percent}};
            }
#endif
            g.report.add(std::move(r), work(g.n));
        }
    }
}

/// Strides 1 ... 32 between neighbouring threads.
void coalescing(const Given& g) {
    g.report.column("stride", "stride");
    Case c(g.options, g.n);
    for (unsigned stride = 1; stride <= 32; stride *= 2) {
        g.report.begin({{"n", g.n}, {"stride", stride}});
        g.report.sequential(c.sequential);
        for (const Device& device : kernel_devices(g.options))
            g.report.add(c.measure(name_on(device, "strided"), device, g.kernels.strided.on(device), stride),
                         work(g.n));
    }
}

/// The CPU with 1, 2, 4, ... threads: speed-up, efficiency, and the serial fraction with which Amdahl's law gives this
/// speed-up (Karp and Flatt).
void threads(const Given& g) {
    const Device cpu = gpulab::study_devices(g.options, {Backend::cpu}).front();
    g.report.column("threads", "threads");
    g.report.column("efficiency", "efficiency");
    g.report.column("serial_fraction", "serial");
    Case c(g.options, g.n);
    const auto most = static_cast<unsigned>(gpulab::hardware_threads());
    double one_thread_ms = 0;
    for (unsigned p = 1;; p = std::min(2 * p, most)) {
        g.report.begin({{"n", g.n}, {"threads", p}});
        Result r = c.measure("cpu_blocks", cpu, g.kernels.threads, p);
        const double ms = r.kernel.median;
        if (p == 1) one_thread_ms = ms;
        g.report.sequential({"cpu_blocks on one thread", one_thread_ms}); // a name of its own: no row replaces its time
        r.extra = {{"efficiency", gpulab::efficiency(one_thread_ms, ms, static_cast<int>(p))}};
        if (p > 1)
            r.extra.push_back({"serial_fraction", gpulab::serial_fraction(gpulab::speedup(one_thread_ms, ms), p)});
        g.report.add(std::move(r), work(g.n));
        if (p == most) break;
    }
}

/// Program 1.2 of the book: a CPU thread for each element, against one loop.
void thread_each(const Given& g) {
    const Device cpu = gpulab::study_devices(g.options, {Backend::cpu}).front();
    g.report.column("n", "elements");
    g.report.column("us_per_element", "us/element", "{:.3f}");
    for (std::size_t n = 1; n <= 1024; n *= 4) {
        Case c(g.options, n);
        g.report.begin({{"n", n}});
        g.report.sequential(c.sequential);
        const auto add = [&](Result r) {
            r.extra = {{"us_per_element", 1000 * r.kernel.median / static_cast<double>(n)}};
            g.report.add(std::move(r), {});
        };
        add(c.measure("cpu_sequential", cpu, gpulab::run_of(variants(), "cpu_sequential")));
        add(c.measure("cpu_thread_each", cpu, cpu_blocks_of, static_cast<unsigned>(n))); // n threads, one element each
    }
}

/// The elements of a study whose reference, on one core, takes about half a second for 2^20 of them.
std::size_t at_most_2_20(const Given& g) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (g.options.given("--n") && g.n > most)
        throw gpulab::UsageError("--n: the study " + g.options.study() + " takes at most 2^20 elements");
    return std::min(g.n, most);
}

/// Even/odd against warp-aligned branches. The kernel moves few bytes, so the percentage of the bound means nothing
/// here.
void divergence(const Given& g) {
    const std::size_t n = at_most_2_20(g);
    g.report.column("branch", "branch");
    Mixed out(n), reference(n);
    for (const Branch branch : {Branch::even_odd, Branch::warp_aligned}) {
        Stopwatch once(0, 1);
        cpu_divergence(branch, reference, once);
        g.report.begin({{"n", n}, {"branch", branch == Branch::even_odd ? "even/odd threads" : "warp-aligned"}});
        g.report.sequential({"cpu_divergence", once.kernel().median});
        for (const Device& device : kernel_devices(g.options))
            g.report.add(gpulab::measure(
                             name_on(device, "divergence"), device, out, g.options,
                             [&](Mixed& o, Stopwatch& watch) { g.kernels.divergence.on(device)(branch, o, watch); },
                             [&] { return gpulab::compare(reference, out, 0); }),
                         {.bytes = 4.0 * static_cast<double>(n)});
    }
}

/// One small table in each kind of memory, read at the same word by all threads of a warp, at neighbouring words, and
/// at words 8 apart.
void memories(const Given& g) {
    const std::size_t n = at_most_2_20(g);
    g.report.column("words apart", "apart");
    g.report.column("reads_per_ns", "reads/ns");
    Mixed table(table_size), out(n), reference(n);
    for (unsigned j = 0; j < table_size; ++j)
        table[j] = static_cast<std::uint32_t>(gpulab::random_bits(g.options.seed(), j));
    for (const unsigned apart : {0u, 1u, 8u}) {
        Stopwatch once(0, 1);
        cpu_look_up(apart, table, reference, once);
        g.report.begin({{"n", n}, {"words apart", apart}});
        g.report.sequential({"cpu_look_up", once.kernel().median});
        for (const Device& device : kernel_devices(g.options))
            for (const auto& [memory, name] : {std::pair(Memory::global, "global"),
                                               {Memory::constant, "constant"},
                                               {Memory::texture, "texture"},
                                               {Memory::shared, "shared"}}) {
                if (device.backend != Backend::cuda && memory == Memory::texture) continue;
                Result r = gpulab::measure(
                    name_on(device, name), device, out, g.options,
                    [&, where = memory](Mixed& o, Stopwatch& watch) {
                        g.kernels.look_up.on(device)(where, apart, table, o, watch);
                    },
                    [&] { return gpulab::compare(reference, out, 0); });
                const double reads = static_cast<double>(n) * table_reads;
                if (r.kernel.median > 0) r.extra = {{"reads_per_ns", reads / (1e6 * r.kernel.median)}};
                g.report.add(std::move(r), {});
            }
    }
}

/// Each point needs 12 bytes in and 4 out; the aligned layout moves 20 in all. 9 operations: 3 differences, 3 squares,
/// 2 sums, 1 root.
void distances(const Options& options, Report& report, std::size_t n) {
    const auto jobs = gpulab::jobs(distance_variants(), options);
    const DistanceProblem problem = make_distance_problem(n, options.seed());
    Distances reference = gpulab::zeros<float>(n), d = gpulab::zeros<float>(n);
    report.sequential(gpulab::sequential(distance_variants(), "cpu_distances", problem, reference));
    const auto size = static_cast<double>(n);
    for (const auto& job : gpulab::gpus_first(jobs, options)) {
        report.doing(job.variant.name);
        report.add(gpulab::run(job, problem, d, options, [&] { return compare(reference, d); }),
                   {.bytes = 16 * size, .flops = 9 * size});
    }
}

/// Time per element from 16 elements on, as far as memory and patience go.
void growth(const Given& g) {
    gpulab::Growth growth(g.options, g.report, "element",
                          {"cpu_sequential", "cpu_blocks", "opencl_one_item", "opencl_vectorised", "cuda_many_blocks",
                           "cuda_float4", "cuda_vectorised", "cuda_cublas"});
    g.report.column("n", "n");
    for (const std::size_t n : growth.sizes("--n", g.n, 16, 4, std::size_t{1} << 34)) {
        const MemoryNeed need = memory_need(n);
        if (!growth.fits(fmt::format("n = {}", n), static_cast<double>(n), need.device, need.host)) break;
        Case c(g.options, n);
        g.report.begin({{"n", n}});
        g.report.sequential(c.sequential);
        for (const auto& job : growth.jobs(variants())) {
            g.report.doing(job.variant.name);
            Result r =
                gpulab::run(job, c.problem, c.c, g.options, [&] { return compare(c.problem, c.reference, c.c); });
            growth.add_to(r);
            g.report.add(std::move(r), work(n));
        }
    }
}

struct Study {
    gpulab::StudySummary summary;
    void (*run)(const Given&);
};

const std::vector<Study>& studies() {
    static const std::vector<Study> all = {
        {{"growth", "time per element, from 16 elements to as many as fit or --n", {"--n"}}, growth},
        {{"threads", "the CPU with 1, 2, 4, ... threads: speed-up, efficiency, serial fraction", {"--n"}}, threads},
        {{"thread-each", "a CPU thread for each element, n = 1 ... 1024", {}}, thread_each},
        {{"table-2-1", "kernel time against one CPU core, n = 10^2 ... 10^7", {}},
         [](const Given& g) { table(g, false); }},
        {{"table-2-2", "the same, with the copies to the device and back", {}}, [](const Given& g) { table(g, true); }},
        {{"block-size", "32 ... 1024 threads per block, with occupancy", {"--n"}}, block_size},
        {{"coalescing", "neighbouring threads read elements 1 ... 32 apart", {"--n"}}, coalescing},
        {{"alignment", "points of 12 bytes against points of 16 bytes", {"--n"}},
         [](const Given& g) {
             g.report.begin({{"op", "distances"}, {"n", g.n}});
             distances(g.options, g.report, g.n);
         }},
        {{"memories", "one table in global, constant, texture and shared memory", {"--n"}}, memories},
        {{"divergence", "branches that divide a warp against branches that do not", {"--n"}}, divergence},
    };
    return all;
}

} // namespace

Work work(std::size_t n) {
    const auto size = static_cast<double>(n);
    return {.bytes = 12 * size, .flops = 2 * size};
}

MemoryNeed memory_need(std::size_t n) {
    const auto size = static_cast<double>(n);
    return {.device = 12 * size, .host = 16 * size};
}

MemoryNeed memory_need_of_points(std::size_t n) {
    const auto size = static_cast<double>(n);
    return {.device = 20 * size, .host = 48 * size};
}

std::vector<gpulab::StudySummary> study_list() {
    std::vector<gpulab::StudySummary> list;
    for (const Study& study : studies()) list.push_back(study.summary);
    return list;
}

StudyKernels study_kernels() {
    return {.threads = cpu_blocks_of,
            .block_size = {GPULAB_IF_CUDA(cuda_block_size), GPULAB_IF_OPENCL(opencl_block_size)},
            .strided = {GPULAB_IF_CUDA(cuda_strided), GPULAB_IF_OPENCL(opencl_strided)},
            .divergence = {GPULAB_IF_CUDA(cuda_divergence), GPULAB_IF_OPENCL(opencl_divergence)},
            .look_up = {GPULAB_IF_CUDA(cuda_look_up), GPULAB_IF_OPENCL(opencl_look_up)}};
}

int run_study(const Options& options, std::size_t n, const StudyKernels& kernels) {
    if (options.study() != "growth") { // which takes any variant, and ends where memory does
        gpulab::refuse_variants(options);
        const MemoryNeed need = memory_need_of_points(n);
        gpulab::check_memory(options, need.device, need.host);
    }
    Report report(options);
    for (const Study& study : studies())
        if (study.summary.name == options.study()) study.run({options, report, n, kernels});
    return report.finish();
}

int run_distances(const Options& options, std::size_t n) {
    const MemoryNeed need = memory_need_of_points(n);
    gpulab::check_memory(options, need.device, need.host);
    Report report(options, {{"op", "distances"}, {"n", n}});
    distances(options, report, n);
    return report.finish();
}

} // namespace saxpy
