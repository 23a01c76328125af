#include "studies.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "gpulab/growth.hpp"
#include "gpulab/sparse/generate.hpp"
#include "judge.hpp"
#include "runs.hpp"

namespace cg {

using gpulab::Options;
using gpulab::Report;

namespace {

/// The 5-point Laplacian with about this number of unknowns.
std::string laplacian(std::size_t rows) {
    const auto side = static_cast<std::size_t>(std::max(2.0, std::round(std::sqrt(static_cast<double>(rows)))));
    return fmt::format("laplace2d:{}", side);
}

/// Unknowns, for a study that should end within minutes: on a CPU, 10 million take hours.
std::size_t default_rows(const Options& options) {
    if (options.study() == "history") return 2'500; // on the CPU everywhere, and steepest descent takes long
    for (const gpulab::Backend backend : {gpulab::Backend::opencl, gpulab::Backend::cuda})
        for (const gpulab::Device& device : options.devices(backend))
            if (!device.is_cpu) return 10'000'000;
    return 250'000;
}

/// A fixed number of iterations, regardless of the residual.
Settings fixed_iterations(Settings settings, std::size_t count) {
    settings.tolerance = 0;
    settings.limit = count;
    return settings;
}

/// Runs these jobs. `each(result, out)` gives the report what it wants of each.
template <class T, class Each>
void run_jobs(const Options& options, const Problem<T>& p, const Reference& reference,
              const std::vector<gpulab::Job<Run<T>>>& jobs, const Each& each) {
    Output<T> out;
    Notes<T> notes(p, out);
    for (const auto& job : jobs) {
        gpulab::Result result = gpulab::run(job, p, out, options, [&] { return compare(p, reference, out); });
        notes.add(job, result);
        each(result, out);
    }
}

/// The same for the variants of these names.
template <class T, class Each>
void some_variants(const Options& options, const Problem<T>& p, const std::vector<std::string>& names,
                   const Each& each) {
    auto some = jobs<T>(options, p.parts);
    std::erase_if(some, [&](const auto& job) { return std::ranges::find(names, job.variant.name) == names.end(); });
    run_jobs(options, p, make_reference(p), some, each);
}

/// The method four ways on two matrices, by cpu_threads. Each way is a row of the table; the files have the residuals
/// of some iterations besides, each iteration a run.
template <class T> void history(const Options& options, Report& report, std::size_t rows, Settings settings) {
    report.column("method", "method");
    report.column("preconditioner", "precond.");
    add_columns(report);
    gpulab::use(gpulab::devices(gpulab::Backend::cpu).front());
    const auto side = static_cast<std::size_t>(std::max(4.0, std::sqrt(static_cast<double>(rows) / 2)));
    for (const std::string& matrix : {laplacian(rows), fmt::format("springs:{}x{}", side, side)}) {
        std::vector<std::pair<gpulab::Result, std::vector<double>>> ways; // with their histories
        gpulab::Work work_of_all;
        for (const bool steepest : {false, true})
            for (const bool jacobi : {false, true}) {
                settings.steepest = steepest;
                settings.jacobi = jacobi;
                const Problem<T> p = problem_of<T>(options, {.generate = matrix, .settings = settings});
                report.begin(parameters(p, matrix, {{"iteration", 0}})); // of the curves below
                some_variants(options, p, {"cpu_threads"}, [&](gpulab::Result& result, const Output<T>& out) {
                    work_of_all = work(p, out.iterations());
                    result = report.add(std::move(result), work_of_all);
                    result.variant = std::string(steepest ? "cpu_steepest" : "cpu_cg") + (jacobi ? "_jacobi" : "");
                    ways.emplace_back(result, out.history);
                });
            }
        report.quiet(true); // the curves
        std::size_t longest = 0;
        for (const auto& [way, norms] : ways) longest = std::max(longest, norms.size());
        for (std::size_t k = 1; k < longest; k += 1 + k / 8) {
            report.begin({{"matrix", matrix}, {"type", sizeof(T) == 8 ? "double" : "float"}, {"iteration", k}});
            for (const auto& [way, norms] : ways) {
                if (k >= norms.size() || !(norms[k] > 0)) continue;
                gpulab::Result point = way;
                point.extra = {{"residual", norms[k] / norms[0]}};
                report.add(std::move(point), work_of_all);
            }
        }
        report.quiet(false);
    }
}

/// Time per row and iteration of the 5-point Laplacian on square grids from 4 x 4 on, as far as memory and patience go.
/// 50 iterations, or fewer where rounding ends a small system before.
template <class T> void growth(const Options& options, Report& report, std::size_t most, const Settings& given) {
    gpulab::Growth growth(options, report, "row_and_iteration",
                          {"cpu_sequential", "cpu_threads", "opencl_five_kernels", "opencl_tuned", "opencl_cpu_ranges",
                           "cuda_graph", "cuda_persistent", "cuda_cusparse_cublas"});
    report.column("n", "n");
    report.column("nonzeros", "nonzeros");
    const Settings settings = fixed_iterations(given, 50);
    for (const std::size_t rows : growth.sizes("--rows", most, 16, 4, std::size_t{1} << 30)) {
        const std::string matrix = laplacian(rows);
        const auto n = static_cast<double>(rows);
        const MemoryNeed need = memory_need(gpulab::generated_size(matrix), sizeof(T));
        if (!growth.fits(fmt::format("{} rows", rows), n * static_cast<double>(settings.limit), need.device, need.host))
            break;
        const Problem<T> p = problem_of<T>(options, {.generate = matrix, .settings = settings});
        report.begin(parameters(p, "laplace2d"));
        run_jobs(options, p, make_reference(p), growth.jobs(jobs<T>(options, p.parts)),
                 [&](gpulab::Result& result, const Output<T>& out) {
                     const std::size_t iterations = std::max<std::size_t>(out.iterations(), 1);
                     growth.add_to(result, n * static_cast<double>(iterations));
                     report.add(std::move(result), work(p, iterations));
                 });
    }
}

/// Table 4.4 and figures 4.8 to 4.12 of the thesis: each kernel with 1 to 16 groups per compute unit. And tables 4.1
/// and 4.3: the largest group, and the work-items with which the search begins, one group of them per compute unit.
template <class T> void table_4_4(const Options& options, Report& report, std::size_t rows, const Settings& given) {
    const std::vector<gpulab::Device> devices = gpulab::study_devices(options, {gpulab::Backend::opencl});
    report.column("items", "items");
    report.column("groups", "groups/CU");
    report.column("saved_percent", "saved %", "{:.0f}");
    const std::string matrix = laplacian(rows);
    const Problem<T> p = problem_of<T>(options, {.generate = matrix, .settings = fixed_iterations(given, 100)});
    for (const gpulab::Device& device : devices) {
        if (sizeof(T) == 8 && !device.fp64) continue;
        gpulab::use(device);
#if defined(GPULAB_WITH_OPENCL)
        kernel_rows(p, matrix, report);
#endif
    }
}

/// Tables 4.5 and 4.6 of the thesis: 100 iterations, the time of each kernel and what is left over. Of several devices
/// it is the time of the one in which that kind of kernel took longest.
template <class T>
void kernel_table(const Options& options, Report& report, std::size_t rows, const Settings& given,
                  const std::vector<std::string>& names) {
    const std::string matrix = laplacian(rows);
    const Problem<T> p = problem_of<T>(options, {.generate = matrix, .settings = fixed_iterations(given, 100)});
    report.begin(parameters(p, matrix));
    add_columns(report);
    report.quiet(true); // beside the columns of every run there is no room for all kernels
    std::vector<gpulab::Result> right;
    some_variants(options, p, names, [&](const gpulab::Result& result, const Output<T>&) {
        if (result.status == gpulab::Result::Status::passed) right.push_back(result);
        report.add(result, work(p, p.limit));
    });
    if (right.empty()) return;
    const std::string system = fmt::format("{} in {}", matrix, sizeof(T) == 8 ? "double" : "float");
    fmt::print("\n{}", kernel_times(system + ": milliseconds of 100 iterations", right));
}

/// Tables 4.7 to 4.12 of the thesis: the rate of each kernel against what the memory allows, from its bytes.
template <class T> void table_4_7(const Options& options, Report& report, std::size_t rows, const Settings& given) {
    const std::string matrix = laplacian(rows);
    const Problem<T> p = problem_of<T>(options, {.generate = matrix, .settings = fixed_iterations(given, 100)});
    report.begin(parameters(p, matrix));
    const std::vector<std::string> names = {"opencl_five_kernels", "opencl_tuned", "cuda_five_kernels"};
    some_variants(options, p, names, [&](const gpulab::Result& result, const Output<T>& out) {
        if (result.status != gpulab::Result::Status::passed) report.add(result, work(p, p.limit));
        else
            for (const auto& [kernel, ms] : out.kernel_ms) {
                const KernelRuns runs = kernel_runs(p, kernel, out.iterations());
                const double each = ms / runs.count;
                gpulab::Result one = result;
                one.variant = fmt::format("{}:{}", result.variant, kernel);
                one.kernel = {each, each, each, 1};
                one.total_ms = 0;
                one.extra = {{"runs", runs.count}, {"ms_runs", ms}}; // for the files
                report.add(std::move(one), runs.mean);
            }
    });
}

/// One part and two: a system of one size, and one that grows with the parts. A model says what more parts would give.
template <class T> void scaling(const Options& options, Report& report, std::size_t rows, const Settings& given) {
    report.column("scaling", "scaling");
    report.column("parts", "parts");
    add_columns(report);
    std::map<std::string, std::map<std::string, double>> us; // by variant, then "strong 2"
    for (const bool weak : {false, true})
        for (const std::size_t parts : {1u, 2u}) {
            Settings settings = fixed_iterations(given, 50);
            settings.parts = parts;
            const std::string matrix = laplacian(weak ? rows * parts : rows);
            const Problem<T> p = problem_of<T>(options, {.generate = matrix, .settings = settings});
            report.begin(parameters(p, matrix, {{"scaling", weak ? "weak" : "strong"}}));
            some_variants(options, p, {"opencl_devices_halo", "cuda_devices", "cuda_devices_stores"},
                          [&](const gpulab::Result& result, const Output<T>&) {
                              for (const gpulab::Parameter& value : result.extra)
                                  if (value.name == "us_per_iteration")
                                      us[result.variant][fmt::format("{} {}", weak ? "weak" : "strong", parts)] =
                                          std::get<double>(value.value);
                              report.add(result, work(p, p.limit));
                          });
        }
    for (auto& [variant, times] : us) {
        const double one = times["strong 1"], two = times["strong 2"], wide = times["weak 2"];
        if (!(one > 0 && two > 0 && wide > 0)) continue;
        const ScalingModel model = scaling_model(one, two, wide);
        std::string text =
            fmt::format("{}, measured: {:.0f} us on one part, {:.0f} us on two ({:.2f} times as fast), {:.0f} us "
                        "on two with twice the rows. Model t(P) = t(1)/P + c with c = {:.0f} us; it gives",
                        variant, one, two, one / two, wide, model.c);
        for (const int parts : {4, 8}) text += fmt::format(" {:.1f} times on {},", model.speed_up(parts), parts);
        constexpr int in_each = 8; // devices of a computer
        const Network network;
        const double halo = std::sqrt(static_cast<double>(rows)) * sizeof(T); // a grid line
        text += fmt::format(" and with computers of {} devices and a network of {:.0f} GB/s and {:.0f} us per message,",
                            in_each, network.gb_per_s, network.us_per_message);
        for (const int computers : {2, 4, 8})
            text += fmt::format(" {:.1f} times on {} computers{}",
                                model.speed_up(in_each * computers, network.us(computers, halo)), computers,
                                computers < 8 ? "," : "");
        report.say(text + ". A model, not a measurement: it assumes that the links between more devices are no slower, "
                          "and the network is assumed.");
    }
}

} // namespace

double Network::us(int computers, double halo_bytes) const {
    if (computers < 2) return 0;
    const double doublings = std::ceil(std::log2(computers));
    return us_per_message + 1e-3 * halo_bytes / gb_per_s + 2 * us_per_message * doublings;
}

ScalingModel scaling_model(double one, double two, double wide) {
    return {one, std::max(0.0, ((two - one / 2) + (wide - one)) / 2)};
}

template <class T> gpulab::Work kernel_work(const Problem<T>& p, const std::string& kernel) {
    const auto n = static_cast<double>(p.n()), nonzeros = static_cast<double>(p.matrix.nonzeros());
    if (kernel == "dot") return {.bytes = 2 * n * sizeof(T), .flops = 2 * n}; // p . q
    if (kernel == "spmv") return {.bytes = nonzeros * (sizeof(T) + 4) + n * (4 + 2 * sizeof(T)), .flops = 2 * nonzeros};
    if (kernel == "next_p" && p.jacobi) return {.bytes = 4 * n * sizeof(T), .flops = 3 * n}; // 1 / a_ii besides
    return {.bytes = 3 * n * sizeof(T), .flops = 2 * n}; // next x, r or p: two read, one written
}

template <class T> KernelRuns kernel_runs(const Problem<T>& p, const std::string& kernel, std::size_t iterations) {
    const auto in_loop = static_cast<double>(iterations);
    if (kernel == "next_x") return {in_loop, kernel_work(p, kernel)};
    const double all = in_loop + 1; // once before the iterations and once in each
    if (kernel != "dot") return {all, kernel_work(p, kernel)};
    const auto n = static_cast<double>(p.n());
    const double rr = all, pq = in_loop, rz = p.jacobi ? all : 0, count = rr + pq + rz;
    return {count,
            {.bytes = (rr + 2 * pq + 2 * rz) * n * sizeof(T) / count, .flops = (2 * rr + 2 * pq + 3 * rz) * n / count}};
}
#define INSTANTIATE(T)                                                        \
    template gpulab::Work kernel_work(const Problem<T>&, const std::string&); \
    template KernelRuns kernel_runs(const Problem<T>&, const std::string&, std::size_t);
INSTANTIATE(float)
INSTANTIATE(double)

std::vector<gpulab::StudySummary> study_list() {
    const std::vector<std::string> takes = {"--type", "--rows"};
    return {{"growth", "time per row and iteration, from 16 rows to as many as fit or --rows", takes},
            {"table-4-4", "each OpenCL kernel with 1 to 16 work-groups per compute unit", takes},
            {"table-4-5", "100 iterations on one device: the time of each kernel and the overhead", takes},
            {"table-4-6",
             "100 iterations on several devices: the time of each kernel and the overhead",
             {"--type", "--rows", "--parts", "--balance"}},
            {"table-4-7", "GFLOP/s of each kernel against what the memory allows", takes},
            {"scaling",
             "one and two devices, the same system and one that grows; a model for more",
             {"--type", "--rows", "--balance"}},
            {"history",
             "conjugate gradients and steepest descent, with and without Jacobi: iterations and residuals",
             {"--type", "--rows", "--tolerance", "--limit"}}};
}

template <class T> int run_study(const Options& options, std::size_t rows, const Settings& given) {
    if (rows == 0) rows = default_rows(options);
    const std::string& name = options.study();
    const std::size_t most = name == "scaling" ? 2 * rows : rows; // the larger of two
    if (name != "growth")                                         // which ends where memory does
        check_memory(options, {most, most, 5.0 * static_cast<double>(most)}, sizeof(T));
    Report report(options);
    if (name == "growth") growth<T>(options, report, rows, given);
    else if (name == "table-4-4") table_4_4<T>(options, report, rows, given);
    else if (name == "table-4-5")
        kernel_table<T>(options, report, rows, given, {"opencl_five_kernels", "opencl_tuned", "cuda_five_kernels"});
    else if (name == "table-4-6")
        kernel_table<T>(options, report, rows, given,
                        {"opencl_devices_whole", "opencl_devices_halo", "cuda_devices", "cuda_devices_stores"});
    else if (name == "table-4-7") table_4_7<T>(options, report, rows, given);
    else if (name == "scaling") scaling<T>(options, report, rows, given);
    else history<T>(options, report, rows, given);
    return report.finish();
}

template int run_study<float>(const Options&, std::size_t, const Settings&);
template int run_study<double>(const Options&, std::size_t, const Settings&);

} // namespace cg
