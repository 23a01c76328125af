#include "studies.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

#include "distances.hpp"
#include "gpulab/error.hpp"
#include "gpulab/growth.hpp"
#include "gpulab/input.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/metrics.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/report.hpp"

namespace saxpy {

using gpulab::Backend;
using gpulab::Device;
using gpulab::Options;
using gpulab::Report;
using gpulab::Result;
using gpulab::Work;

namespace {

Work saxpy_work(std::size_t n) {
    return {.bytes = 12.0 * static_cast<double>(n), .flops = 2.0 * static_cast<double>(n)};
}

/// Why the back ends that the user named have no device, for a message; empty when they have one or none was named.
std::string why_none(const Options& options) {
    std::string why;
    for (const Backend backend : {Backend::opencl, Backend::cuda})
        if (options.named(backend) && !options.why_no_devices(backend).empty())
            why += fmt::format(" ({}: {})", name_of(backend), options.why_no_devices(backend));
    return why;
}

/// The OpenCL and CUDA devices that the user chose. The studies have no kernels for the CPU back end.
std::vector<Device> kernel_devices(const Options& options) {
    std::vector<Device> all = options.devices(Backend::opencl);
    for (const Device& device : options.devices(Backend::cuda)) all.push_back(device);
    if (all.empty())
        throw gpulab::UsageError("--study " + options.study() + " needs an OpenCL or a CUDA device" +
                                 why_none(options));
    return all;
}

/// A problem, its reference, and the time of the sequential CPU variant.
struct Case {
    Problem problem;
    Output reference;
    gpulab::Sequential sequential;
    Case(const Options& options, std::size_t n)
        : problem(make_problem(n, options.seed())), reference(n),
          sequential(gpulab::sequential(variants(), "cpu_sequential", problem, reference, Stopwatch(1, 5))) {}
};

/// Tables 2.1 and 2.2 of the book: n = 10^2 ... 10^7, the kernel alone, and the kernel with the copies before and after
/// it. The total, with allocation and all else, stands beside the latter. Times are in milliseconds. (The book's
/// headings say milliseconds too, but its numbers are seconds.)
void table(const Options& options, Report& report, bool with_transfers) {
    report.quiet(true);
    struct Row {
        std::size_t n;
        double sequential_ms;
        Result result;
    };
    std::vector<Row> rows;
    for (std::size_t n = 100; n <= 10'000'000; n *= 10) {
        const Case c(options, n);
        Output out(n);
        report.begin({{"n", n}});
        report.sequential(c.sequential);
        for (const Device& device : kernel_devices(options)) {
            const bool cuda = device.backend == Backend::cuda;
            const char* name = cuda ? "cuda_many_blocks" : "opencl_one_item";
            Run* run = gpulab::run_of(variants(), name);
            if (with_transfers) {
                name = cuda ? "cuda_copies_and_kernel" : "opencl_copies_and_kernel";
                run = cuda ? GPULAB_IF_CUDA(cuda_copies_and_kernel) : GPULAB_IF_OPENCL(opencl_copies_and_kernel);
            }
            Result r = gpulab::measure(
                name, device, out, options, [&](Output& o, Stopwatch& watch) { run(c.problem, o, watch); },
                [&] { return compare(c.problem, c.reference, out); });
            // The files hold the columns of the printed table beside those of every run.
            const double flops = 2.0 * static_cast<double>(n);
            const double ms = r.kernel.median;
            r.extra = {{"sequential_ms", c.sequential.ms},
                       {"parallel_ms", ms},
                       {"table_speedup", gpulab::speedup(c.sequential.ms, ms)},
                       {"sequential_gflop_per_s", gpulab::gflop_per_s(flops, c.sequential.ms)},
                       {"parallel_gflop_per_s", gpulab::gflop_per_s(flops, ms)}};
            Work work = saxpy_work(n);
            if (with_transfers) work.bytes = 0; // most of the time passes on the link, not in the device's memory
            rows.push_back({n, c.sequential.ms, report.add(std::move(r), work)});
        }
    }
    for (const Device& device : kernel_devices(options)) {
        const std::string title =
            fmt::format("{}  {}, {}", device.id(), device.name, with_transfers ? "copies and kernel" : "kernel only");
        fmt::print("\n{}", gpulab::wrapped(title, gpulab::terminal_of_stdout().columns, 0, 4));
        fmt::print("{:>49} {:>17}\n", "", "GFLOP/s");
        fmt::print("{:>8} {:>13} {:>13} {:>10} {:>10} {:>9}{}\n", "n", "sequential ms",
                   with_transfers ? "parallel ms" : "kernel ms", "speed-up", "sequential", "parallel",
                   with_transfers ? fmt::format(" {:>11}", "total ms") : "");
        for (const Row& row : rows) {
            if (row.result.device.id() != device.id()) continue;
            const double ms = row.result.kernel.median;
            const double flops = 2.0 * static_cast<double>(row.n);
            fmt::print("{:>8} {:>13.6f} {:>13.6f} {:>10.4f} {:>10.2f} {:>9.2f}{}\n", row.n, row.sequential_ms, ms,
                       gpulab::speedup(row.sequential_ms, ms), gpulab::gflop_per_s(flops, row.sequential_ms),
                       gpulab::gflop_per_s(flops, ms),
                       with_transfers ? fmt::format(" {:>11.6f}", row.result.total_ms) : "");
        }
    }
}

/// Block sizes 32 ... 1024, with the occupancy that the CUDA runtime computes.
void block_size(const Options& options, Report& report, std::size_t n, const StudyKernels& kernels) {
    report.column("threads per block", "threads");
    if (!options.devices(Backend::cuda).empty()) { // OpenCL has no such query
        report.column("occupancy_percent", "occupancy");
        report.column("blocks_per_sm", "blocks/SM");
        report.column("warps_per_sm", "warps/SM");
    }
    const Case c(options, n);
    Output out(n);
    for (unsigned threads = 32; threads <= 1024; threads *= 2) {
        report.begin({{"n", n}, {"threads per block", threads}});
        report.sequential(c.sequential);
        for (const Device& device : kernel_devices(options)) {
            const bool cuda = device.backend == Backend::cuda;
            BlockSizeRun* const run = cuda ? kernels.cuda_block_size : kernels.opencl_block_size;
            Result r = gpulab::measure(
                cuda ? "cuda_block_size" : "opencl_block_size", device, out, options,
                [&](Output& o, Stopwatch& watch) { run(c.problem, o, watch, threads); },
                [&] { return compare(c.problem, c.reference, out); });
#if defined(GPULAB_WITH_CUDA)
            if (cuda) {
                gpulab::use(device);
                const BlockOccupancy o = cuda_block_occupancy(threads);
                r.extra = {{"blocks_per_sm", o.blocks_per_sm},
                           {"warps_per_sm", o.warps_per_sm},
                           {"occupancy_percent", o.percent}};
            }
#endif
            report.add(std::move(r), saxpy_work(n));
        }
    }
}

/// Strides 1 ... 32 between neighbouring threads.
void coalescing(const Options& options, Report& report, std::size_t n, const StudyKernels& kernels) {
    report.column("stride", "stride");
    const Case c(options, n);
    Output out(n);
    for (unsigned stride = 1; stride <= 32; stride *= 2) {
        report.begin({{"n", n}, {"stride", stride}});
        report.sequential(c.sequential);
        for (const Device& device : kernel_devices(options)) {
            const bool cuda = device.backend == Backend::cuda;
            StridedRun* const run = cuda ? kernels.cuda_strided : kernels.opencl_strided;
            Result r = gpulab::measure(
                cuda ? "cuda_strided" : "opencl_strided", device, out, options,
                [&](Output& o, Stopwatch& watch) { run(c.problem, o, watch, stride); },
                [&] { return compare(c.problem, c.reference, out); });
            report.add(std::move(r), saxpy_work(n));
        }
    }
}

/// The CPU with 1, 2, 4, ... threads: speed-up, efficiency, and the serial fraction with which Amdahl's law gives this
/// speed-up (Karp and Flatt).
void threads(const Options& options, Report& report, std::size_t n, const StudyKernels& kernels) {
    const std::vector<Device> cpus = options.devices(Backend::cpu);
    if (cpus.empty()) throw gpulab::UsageError("--study threads runs on the CPU back end, which was not chosen");
    report.column("threads", "threads");
    report.column("efficiency", "efficiency");
    report.column("serial_fraction", "serial");
    const Case c(options, n);
    Output out(n);
    const Device& cpu = cpus.front();
    const auto most = static_cast<unsigned>(gpulab::hardware_threads());
    double one_thread_ms = 0;
    for (unsigned p = 1;; p = std::min(2 * p, most)) {
        report.begin({{"n", n}, {"threads", p}});
        Result r = gpulab::measure(
            "cpu_blocks", cpu, out, options,
            [&](Output& o, Stopwatch& watch) { kernels.threads(c.problem, o, watch, p); },
            [&] { return compare(c.problem, c.reference, out); });
        if (p == 1) one_thread_ms = r.kernel.median;
        report.sequential({"cpu_blocks", one_thread_ms});
        const double s = gpulab::speedup(one_thread_ms, r.kernel.median);
        r.extra = {{"efficiency", gpulab::efficiency(one_thread_ms, r.kernel.median, static_cast<int>(p))}};
        if (p > 1) r.extra.push_back({"serial_fraction", gpulab::serial_fraction(s, p)});
        report.add(std::move(r), saxpy_work(n));
        if (p == most) break;
    }
}

/// Program 1.2 of the book: a CPU thread for each element, against one loop.
void thread_each(const Options& options, Report& report) {
    const std::vector<Device> cpus = options.devices(Backend::cpu);
    if (cpus.empty()) throw gpulab::UsageError("--study thread-each runs on the CPU back end, which was not chosen");
    report.column("n", "elements");
    report.column("us_per_element", "us/element", "{:.3f}");
    for (std::size_t n = 1; n <= 1024; n *= 4) {
        const Case c(options, n);
        Output out(n);
        report.begin({{"n", n}});
        report.sequential(c.sequential);
        const auto add = [&](const char* name, const auto& run) {
            Result r = gpulab::measure(name, cpus.front(), out, options, run,
                                       [&] { return compare(c.problem, c.reference, out); });
            r.extra = {{"us_per_element", 1000 * r.kernel.median / static_cast<double>(n)}};
            report.add(std::move(r), {});
        };
        add("cpu_sequential",
            [&](Output& o, Stopwatch& watch) { gpulab::run_of(variants(), "cpu_sequential")(c.problem, o, watch); });
        add("cpu_thread_each", [&](Output& o, Stopwatch& watch) {
            cpu_blocks_of(c.problem, o, watch, static_cast<unsigned>(n)); // n threads, each with one element
        });
    }
}

/// Even/odd against warp-aligned branches. The kernel moves few bytes, so the percentage of the bound means nothing
/// here. At most 2^20 elements, for which the reference on one core takes about half a second.
void divergence(const Options& options, Report& report, std::size_t size, const StudyKernels& kernels) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (options.given("--n") && size > most)
        throw gpulab::UsageError("--n: the study divergence takes at most 2^20 elements");
    report.column("branch", "branch");
    const std::size_t n = std::min(size, most);
    Mixed out(n), reference(n);
    for (const Branch branch : {Branch::even_odd, Branch::warp_aligned}) {
        gpulab::Stopwatch watch(0, 1);
        cpu_divergence(branch, reference, watch);
        report.begin({{"n", n}, {"branch", branch == Branch::even_odd ? "even/odd threads" : "warp-aligned"}});
        report.sequential({"cpu_divergence", watch.kernel().median});
        for (const Device& device : kernel_devices(options)) {
            const bool cuda = device.backend == Backend::cuda;
            DivergenceRun* const run = cuda ? kernels.cuda_divergence : kernels.opencl_divergence;
            Result r = gpulab::measure(
                cuda ? "cuda_divergence" : "opencl_divergence", device, out, options,
                [&](Mixed& o, Stopwatch& w) { run(branch, o, w); }, [&] { return gpulab::compare(reference, out, 0); });
            report.add(std::move(r), {.bytes = 4.0 * static_cast<double>(n)});
        }
    }
}

/// One small table in each kind of memory, read at the same word by all threads of a warp, at neighbouring words, and
/// at words 8 apart. At most 2^20 elements, as in divergence.
void memories(const Options& options, Report& report, std::size_t size, const StudyKernels& kernels) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (options.given("--n") && size > most)
        throw gpulab::UsageError("--n: the study memories takes at most 2^20 elements");
    const std::size_t n = std::min(size, most);
    report.column("words apart", "apart");
    report.column("reads_per_ns", "reads/ns");
    Mixed table(table_size), out(n), reference(n);
    for (unsigned j = 0; j < table_size; ++j)
        table[j] = static_cast<std::uint32_t>(gpulab::random_bits(options.seed(), j));
    for (const unsigned apart : {0u, 1u, 8u}) {
        gpulab::Stopwatch once(0, 1);
        cpu_look_up(apart, table, reference, once);
        report.begin({{"n", n}, {"words apart", apart}});
        report.sequential({"cpu_look_up", once.kernel().median});
        for (const Device& device : kernel_devices(options)) {
            const bool cuda = device.backend == Backend::cuda;
            LookUpRun* const run = cuda ? kernels.cuda_look_up : kernels.opencl_look_up;
            for (const auto& [memory, name] : {std::pair(Memory::global, "global"),
                                               {Memory::constant, "constant"},
                                               {Memory::texture, "texture"},
                                               {Memory::shared, "shared"}}) {
                if (!cuda && memory == Memory::texture) continue;
                Result r = gpulab::measure(
                    fmt::format("{}_{}", name_of(device.backend), name), device, out, options,
                    [&](Mixed& o, Stopwatch& watch) { run(memory, apart, table, o, watch); },
                    [&] { return gpulab::compare(reference, out, 0); });
                const double reads = static_cast<double>(n) * table_reads;
                if (r.kernel.median > 0) r.extra = {{"reads_per_ns", reads / (1e6 * r.kernel.median)}};
                report.add(std::move(r), {});
            }
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
    for (const auto& job : jobs) {
        report.doing(job.variant.name);
        report.add(gpulab::run(job, problem, d, options, [&] { return compare(reference, d); }),
                   {.bytes = 16 * size, .flops = 9 * size});
    }
}

/// Time per element from 16 elements on, as far as memory and patience go.
void growth(const Options& options, Report& report, std::size_t most) {
    gpulab::Growth growth(options, report, "element",
                          {"cpu_sequential", "cpu_blocks", "opencl_one_item", "opencl_vectorised", "cuda_many_blocks",
                           "cuda_float4", "cuda_vectorised", "cuda_cublas"});
    report.column("n", "n");
    for (const std::size_t n : growth.sizes("--n", most, 16, 4, std::size_t{1} << 34)) {
        const auto size = static_cast<double>(n);
        if (!growth.fits(fmt::format("n = {}", n), size, 12 * size, 16 * size)) break;
        const Case c(options, n);
        Output out(n);
        report.begin({{"n", n}});
        report.sequential(c.sequential);
        for (const auto& job : growth.jobs(variants())) {
            report.doing(job.variant.name);
            Result r = gpulab::run(job, c.problem, out, options, [&] { return compare(c.problem, c.reference, out); });
            growth.add_to(r);
            report.add(std::move(r), saxpy_work(n));
        }
    }
}

struct Study {
    const char* name;
    const char* summary;
    std::function<void(const Options&, Report&, std::size_t, const StudyKernels&)> run;
    bool takes_n = true;
};

const std::vector<Study>& studies() {
    static const std::vector<Study> all = {
        {"growth", "time per element, from 16 elements to as many as fit or --n",
         [](const Options& o, Report& r, std::size_t n, const StudyKernels&) { growth(o, r, n); }},
        {"threads", "the CPU with 1, 2, 4, ... threads: speed-up, efficiency, serial fraction", threads},
        {"thread-each", "a CPU thread for each element, n = 1 ... 1024",
         [](const Options& o, Report& r, std::size_t, const StudyKernels&) { thread_each(o, r); }, false},
        {"table-2-1", "kernel time against one CPU core, n = 10^2 ... 10^7",
         [](const Options& o, Report& r, std::size_t, const StudyKernels&) { table(o, r, false); }, false},
        {"table-2-2", "the same, with the copies to the device and back",
         [](const Options& o, Report& r, std::size_t, const StudyKernels&) { table(o, r, true); }, false},
        {"block-size", "32 ... 1024 threads per block, with occupancy", block_size},
        {"coalescing", "neighbouring threads read elements 1 ... 32 apart", coalescing},
        {"alignment", "points of 12 bytes against points of 16 bytes",
         [](const Options& o, Report& r, std::size_t n, const StudyKernels&) {
             r.begin({{"op", "distances"}, {"n", n}});
             distances(o, r, n);
         }},
        {"memories", "one table in global, constant, texture and shared memory", memories},
        {"divergence", "branches that divide a warp against branches that do not", divergence},
    };
    return all;
}

} // namespace

std::vector<gpulab::StudySummary> study_list() {
    std::vector<gpulab::StudySummary> list;
    for (const Study& study : studies())
        list.push_back(
            {study.name, study.summary, study.takes_n ? std::vector<std::string>{"--n"} : std::vector<std::string>{}});
    return list;
}

StudyKernels study_kernels() {
    return {.threads = cpu_blocks_of,
            .cuda_block_size = GPULAB_IF_CUDA(cuda_block_size),
            .opencl_block_size = GPULAB_IF_OPENCL(opencl_block_size),
            .cuda_strided = GPULAB_IF_CUDA(cuda_strided),
            .opencl_strided = GPULAB_IF_OPENCL(opencl_strided),
            .cuda_divergence = GPULAB_IF_CUDA(cuda_divergence),
            .opencl_divergence = GPULAB_IF_OPENCL(opencl_divergence),
            .cuda_look_up = GPULAB_IF_CUDA(cuda_look_up),
            .opencl_look_up = GPULAB_IF_OPENCL(opencl_look_up)};
}

int run_study(const Options& options, std::size_t n, const StudyKernels& kernels) {
    if (options.study() != "growth") { // which takes any variant, and ends where memory does
        if (!options.chosen_variants().empty())
            throw gpulab::UsageError("--study " + options.study() + " has its own kernels; --variant does not apply");
        const auto size = static_cast<double>(n);
        gpulab::check_memory(options, 20 * size, 48 * size);
    }
    Report report(options);
    for (const Study& study : studies())
        if (study.name == options.study()) study.run(options, report, n, kernels);
    return report.finish();
}

int run_distances(const Options& options, std::size_t n) {
    const auto size = static_cast<double>(n);
    gpulab::check_memory(options, 20 * size, 48 * size);
    Report report(options, {{"op", "distances"}, {"n", n}});
    distances(options, report, n);
    return report.finish();
}

} // namespace saxpy
