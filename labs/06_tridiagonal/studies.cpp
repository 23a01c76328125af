#include "studies.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "gpulab/growth.hpp"

namespace tridiagonal {

using gpulab::Options;
using gpulab::Report;

namespace {

/// The variants whose names end in one of `endings`.
template <class T> std::vector<gpulab::Variant<Run<T>>> rungs(const std::vector<std::string>& endings) {
    std::vector<gpulab::Variant<Run<T>>> table;
    for (const auto& v : variants<T>())
        if (std::any_of(endings.begin(), endings.end(), [&](const std::string& e) { return v.name.ends_with(e); }))
            table.push_back(v);
    return table;
}

template <class T> gpulab::Parameters parameters(const Problem<T>& p, const Sweep& sweep) {
    return {{"n", p.n},
            {"systems", p.systems},
            {"matrix", sweep.matrix},
            {"type", sweep.type},
            {"layout", p.layout == Layout::separate ? "separate" : "interleaved"}};
}

/// Measures the chosen variants of a table on one problem.
template <class T>
void measure(const Options& options, Report& report, const Sweep& sweep, std::size_t n, std::size_t systems,
             const std::vector<gpulab::Variant<Run<T>>>& table, Layout layout = Layout::separate) {
    const auto jobs = gpulab::jobs(table, options);
    const MemoryNeed need = memory_need<T>(n * systems, systems);
    gpulab::check_memory(options, need.device, need.host);
    Problem<T> p = make_problem<T>(sweep.matrix, n, systems, options.seed());
    p.layout = layout;
    const Reference<T> reference = make_reference(p);
    Output<T> out(n, systems);
    report.begin(parameters(p, sweep));
    report.sequential(gpulab::sequential(variants<T>(), "cpu_thomas", p, out));
    for (const auto& job : jobs) {
        report.doing(job.variant.name);
        report.add(gpulab::run(job, p, out, options, [&] { return compare(p, reference, out); }), work<T>(n, systems));
    }
}

/// Whether the user's choices leave a device to some variant of a table.
template <class T> bool any_runs(const Options& options, const std::vector<gpulab::Variant<Run<T>>>& table) {
    return std::any_of(table.begin(), table.end(), [&](const auto& v) {
        return options.wants(v.name, v.backend) && !options.devices(v.backend).empty();
    });
}

/// Figures 3.7 to 3.9 of the book: n = 2^5 ... 2^10 for several numbers of systems.
/// @param both_layouts run the rungs for interleaved data a second time, without transposing
template <class T>
void many_systems(const Options& options, Report& report, const Sweep& sweep,
                  const std::vector<gpulab::Variant<Run<T>>>& table, bool both_layouts) {
    const std::size_t max_n = options.given("--n") ? sweep.n : 1024;
    const std::size_t most = options.given("--systems") ? sweep.systems : 32768;
    if (max_n < 32 || most < 32)
        throw gpulab::UsageError("--study " + options.study() + ": at least --n 32 and --systems 32 are needed");
    const auto interleaved = rungs<T>({"_interleaved"});
    report.column("n", "n");
    for (const std::size_t systems : {32, 512, 1024, 16384, 32768})
        for (std::size_t n = 32; n <= 1024; n *= 2) {
            if (systems > most || n > max_n) continue;
            measure<T>(options, report, sweep, n, systems, table);
            if (both_layouts && any_runs<T>(options, interleaved))
                measure<T>(options, report, sweep, n, systems, interleaved, Layout::interleaved);
        }
}

/// The kernels of CR and PCR, and CR with the book's launch.
/// @throws gpulab::UsageError where there is no device for any of them
template <class T> std::vector<gpulab::Variant<Run<T>>> with_the_books(const Options& options) {
    (void)gpulab::study_devices(options, {gpulab::Backend::opencl, gpulab::Backend::cuda});
    auto table = rungs<T>({"opencl_cr", "opencl_pcr", "cuda_cr", "cuda_pcr"});
    table.push_back({.name = "opencl_book_cr",
                     .summary = "CR, a group of n / 2 items per system",
                     .backend = gpulab::Backend::opencl,
                     .run = GPULAB_IF_OPENCL(opencl_book_cr<T>),
                     .needs = {.fp64 = sizeof(T) == 8}});
    table.push_back({.name = "cuda_book_cr",
                     .summary = "CR, a block of n / 2 threads per system",
                     .backend = gpulab::Backend::cuda,
                     .run = GPULAB_IF_CUDA(cuda_book_cr<T>)});
    return table;
}

/// Time per equation of one system from 16 unknowns on, or of --systems of them, as far as memory and patience go.
template <class T> void growth(const Options& options, Report& report, const Sweep& sweep) {
    const std::size_t systems = options.given("--systems") ? sweep.systems : 1;
    gpulab::Growth growth(
        options, report, "equation",
        systems == 1 ? std::vector<std::string_view>{"cpu_thomas", "opencl_partition", "cuda_cr_one_block",
                                                     "cuda_registers", "cuda_partition", "cuda_cusparse_gtsv2_nopivot"}
                     : std::vector<std::string_view>{"cpu_thomas", "cpu_threads", "opencl_thomas", "opencl_partition",
                                                     "cuda_registers", "cuda_partition", "cuda_cusparse_gtsv2",
                                                     "cuda_cusparse_gtsv_interleaved"});
    report.column("n", "n");
    for (const std::size_t n : growth.sizes("--n", sweep.n, 16, 4, (std::size_t{1} << 31) / systems)) {
        const MemoryNeed need = memory_need<T>(n * systems, systems);
        if (!growth.fits(fmt::format("n = {}", n), static_cast<double>(n * systems), need.device, need.host)) break;
        const Problem<T> p = make_problem<T>(sweep.matrix, n, systems, options.seed());
        const Reference<T> reference = make_reference(p);
        Output<T> out(n, systems);
        report.begin(parameters(p, sweep));
        for (const auto& job : growth.jobs(variants<T>())) {
            report.doing(job.variant.name);
            gpulab::Result r = gpulab::run(job, p, out, options, [&] { return compare(p, reference, out); });
            growth.add_to(r);
            report.add(std::move(r), work<T>(n, systems));
        }
    }
}

} // namespace

template <class T> MemoryNeed memory_need(std::size_t equations, std::size_t systems) {
    const double unknowns = static_cast<double>(equations), wide = sizeof(T) == 4 ? 8 : 16;
    const double at_once = unknowns / static_cast<double>(systems) *
                           std::min(static_cast<double>(systems), static_cast<double>(gpulab::hardware_threads()));
    return {.device = 11 * sizeof(T) * unknowns,
            .host = (4 + 1 + 1 + 5) * sizeof(T) * unknowns + 8 * unknowns + 3 * wide * at_once};
}

std::vector<gpulab::StudySummary> study_list() {
    const std::vector<std::string> sweep = {"--n", "--systems", "--matrix", "--type"};
    return {
        {"figure-3-7", "the book's figure 3.7: times of Thomas, CR and PCR for n = 32 ... 1024, 32 ... 32768 systems",
         sweep},
        {"figure-3-8", "the book's figures 3.8 and 3.9: speed-ups over Thomas on the CPU, the faster rungs beside them",
         sweep},
        {"book-launch", "CR with n / 2 threads for each system, as in the book, beside the rungs for CR and PCR",
         sweep},
        {"growth", "time per equation of one system, or of --systems, from n = 16 to as large as fits or --n", sweep}};
}

template <class T> int run_study(const Options& options, const Sweep& sweep) {
    Report report(options);
    const std::string& study = options.study();
    if (study == "figure-3-7") many_systems<T>(options, report, sweep, rungs<T>({"cpu_thomas", "_cr", "_pcr"}), false);
    else if (study == "figure-3-8")
        many_systems<T>(options, report, sweep,
                        rungs<T>({"cpu_thomas", "cuda_cr", "opencl_cr", "cuda_pcr", "opencl_pcr", "_interleaved",
                                  "_hybrid", "_registers", "_gtsv2"}),
                        true);
    else if (study == "book-launch") many_systems<T>(options, report, sweep, with_the_books<T>(options), false);
    else if (study == "growth") growth<T>(options, report, sweep);
    else throw gpulab::UsageError("--study: '" + study + "' is not known");
    return report.finish();
}

#define INSTANTIATE(T)                                            \
    template MemoryNeed memory_need<T>(std::size_t, std::size_t); \
    template int run_study<T>(const Options&, const Sweep&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace tridiagonal
