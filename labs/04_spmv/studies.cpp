#include "studies.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "describe.hpp"
#include "gpulab/growth.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/rows.hpp"

namespace spmv {

using gpulab::Backend;
using gpulab::Options;
using gpulab::Report;

namespace {

/// The format that a variant computes with.
std::string format_of(std::string_view variant) {
    for (const char* const format : {"coo", "ell", "csc", "dia", "hyb", "jds", "bcsr", "bins"})
        if (variant.ends_with(format)) return format;
    return "csr";
}

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

/// Measures the chosen variants of a table on one problem.
template <class T>
void measure(const Options& options, Report& report, const Problem<T>& problem, const FormatBytes& bytes,
             const std::vector<gpulab::Variant<Run<T>>>& table) {
    const auto jobs = gpulab::jobs(table, options);
    add_format_column(report, bytes);
    const Reference<T> reference = make_reference(problem);
    Output<T> y(problem.matrix.rows);
    report.sequential(gpulab::sequential(variants<T>(), "cpu_sequential", problem, y));
    for (const auto& job : jobs) {
        report.doing(job.variant.name);
        gpulab::Result r = gpulab::run(job, problem, y, options, [&] { return compare(reference, y); });
        add_format(r, bytes);
        report.add(std::move(r), work(problem.matrix));
    }
}

/// Memory and time of each format on matrices for which they differ, the lecture's 1000 x 1000 at 1 % among them.
template <class T> void formats(const Options& options, Report& report, std::size_t rows) {
    std::size_t side = 2, net = 1; // of a square grid with a row for each point, and with two
    while ((side + 1) * (side + 1) <= rows) ++side;
    while (2 * (net + 1) * (net + 1) <= rows) ++net;
    const std::size_t mean = std::min<std::size_t>(16, rows / 2);
    std::vector<gpulab::Variant<Run<T>>> table; // one kernel per format and back end, of CUDA two for CSR
    for (const auto& v : variants<T>())
        if (format_of(v.name) != "csr" || v.name == "cpu_sequential" || v.name == "opencl_slice_per_row" ||
            v.name == "cuda_row_blocks" || v.name == "cuda_merge_path")
            table.push_back(v);
    for (const std::string& what :
         {std::string("random:1000:10"), fmt::format("laplace2d:{}", side), fmt::format("banded:{}:{}", rows, mean / 2),
          fmt::format("springs:{}x{}", net, net), fmt::format("random:{}:{}-{}", rows, mean / 2, mean + mean / 2),
          fmt::format("powerlaw:{}:{}", rows, mean)}) {
        const Problem<T> p = make_problem(gpulab::generate_matrix<T>(what, options.seed()), options.seed());
        const FormatBytes bytes = format_bytes(p.matrix);
        gpulab::Parameters parameters = {{"matrix", what}, {"rows", p.matrix.rows}, {"nonzeros", p.matrix.nonzeros()}};
        std::vector<std::string> percents;
        for (const auto& [format, b] : bytes.all) {
            if (format == "bins") continue;
            parameters.emplace_back(lower(format) + "_bytes", b);
            if (format != "dense") percents.push_back(fmt::format("{} {:.4g} %", format, percent_of_dense(bytes, b)));
        }
        report.begin(parameters);
        report.say(fmt::format("bytes against dense: {}", fmt::join(percents, ", ")));
        measure(options, report, p, bytes, table);
    }
}

/// Rows of 1 ... 1024 non-zeros, always with the same total: which rung wins where.
template <class T> void row_length(const Options& options, Report& report, std::size_t rows) {
    const std::size_t nonzeros = 16 * rows;
    std::vector<gpulab::Variant<Run<T>>> table;
    for (const auto& v : variants<T>())
        if (v.backend != Backend::cpu || v.name == "cpu_threads") table.push_back(v);
    for (std::size_t length = 1; length <= 1024; length *= 2) {
        const std::size_t n = std::max<std::size_t>(nonzeros / length, 1);
        const std::string what = fmt::format("random:{}x{}:{}", n, std::max(rows, length), length);
        const Problem<T> p = make_problem(gpulab::generate_matrix<T>(what, options.seed()), options.seed());
        report.begin({{"matrix", what}, {"row length", length}, {"nonzeros", p.matrix.nonzeros()}});
        measure(options, report, p, format_bytes(p.matrix), table);
    }
}

/// The largest side of a cube, or of a square, of at most this many points.
std::size_t side_of(double points, double dimensions) {
    return std::max<std::size_t>(static_cast<std::size_t>(std::pow(points, 1 / dimensions) + 1e-9), 1);
}

/// Twenty matrices: each generator, with short and long, even and uneven rows, square, tall and wide.
std::vector<std::string> matrices_of_every_kind(std::size_t rows) {
    const auto n = static_cast<double>(rows);
    const auto part = [=](std::size_t of) { return std::max<std::size_t>(rows / of, 1); };
    const auto at_most = [=](std::size_t length) { return std::min(length, rows / 2); };
    const std::size_t square = side_of(n, 2), cube = side_of(n, 3), net = side_of(n / 2, 2), block = side_of(n / 3, 3);
    return {"lecture",
            fmt::format("laplace2d:{}", square),
            fmt::format("laplace2d:{}x4", part(4)),
            fmt::format("laplace3d:{}", cube),
            fmt::format("stiffness:{}", rows),
            fmt::format("springs:{}x{}", net, net),
            fmt::format("springs:{0}x{0}x{0}", block),
            fmt::format("banded:{}:0", rows),
            fmt::format("banded:{}:8", rows),
            fmt::format("banded:{}:64", part(8)),
            fmt::format("random:{}:1", rows),
            fmt::format("random:{}:4", rows),
            fmt::format("random:{}:16", rows),
            fmt::format("random:{}:0-{}", rows, at_most(32)),
            fmt::format("random:{}x{}:{}", 4 * rows, part(16), std::min<std::size_t>(4, part(16))),
            fmt::format("random:{}x{}:{}", part(64), rows, at_most(1024)),
            fmt::format("powerlaw:{}:{}", rows, at_most(16)),
            fmt::format("powerlaw:{}:{}:2.1", rows, at_most(16)),
            fmt::format("powerlaw:{}:{}:3.5", rows, at_most(4)),
            fmt::format("powerlaw:{}x{}:{}", part(16), rows, at_most(64))};
}

/// The rungs for CSR against the library, on matrices of every kind.
template <class T> void kinds(const Options& options, Report& report, std::size_t rows) {
    std::vector<gpulab::Variant<Run<T>>> table;
    for (const auto& v : variants<T>())
        if (format_of(v.name) == "csr") table.push_back(v);
    const auto jobs = gpulab::jobs(table, options);
    double least = 0; // of the ratios below
    std::string summary;
    for (const std::string& what : matrices_of_every_kind(rows)) {
        const Problem<T> p = make_problem(gpulab::generate_matrix<T>(what, options.seed()), options.seed());
        const Reference<T> reference = make_reference(p);
        Output<T> y(p.matrix.rows);
        double ours = 0, library = 0; // the least times so far
        std::string best;
        report.begin({{"matrix", what},
                      {"type", sizeof(T) == 4 ? "float" : "double"},
                      {"rows", p.matrix.rows},
                      {"nonzeros", p.matrix.nonzeros()}});
        for (const auto& job : jobs) {
            report.doing(job.variant.name);
            const gpulab::Result& r =
                report.add(gpulab::run(job, p, y, options, [&] { return compare(reference, y); }), work(p.matrix));
            if (job.variant.backend != Backend::cuda || r.status != gpulab::Result::Status::passed) continue;
            double& time = job.variant.baseline ? library : ours;
            if (time > 0 && time <= r.kernel.median) continue;
            time = r.kernel.median;
            if (!job.variant.baseline) best = job.variant.name;
        }
        if (ours <= 0 || library <= 0) continue;
        const double ratio = gpulab::speedup(library, ours);
        report.say(against_library(what, best, ours, library));
        if (least > 0 && ratio >= least) continue;
        least = ratio;
        summary = fmt::format("the least: {:.2f}, {}, {}", ratio, what, best);
    }
    if (!summary.empty()) report.say(summary);
}

/// Time per non-zero of the 5-point Laplacian on square grids from 2 x 2 on, as far as memory and patience go.
template <class T> void growth(const Options& options, Report& report, std::size_t most) {
    gpulab::Growth growth(options, report, "nonzero",
                          {"cpu_sequential", "cpu_threads", "opencl_thread_per_row", "opencl_slice_per_row",
                           "cuda_thread_per_row", "cuda_row_blocks", "cuda_merge_path", "cuda_cusparse_alg1",
                           "cuda_cusparse_alg2"});
    report.column("rows", "rows");
    report.column("nonzeros", "nonzeros");
    std::size_t side = 2;
    for (const std::size_t rows : growth.sizes("--rows", most, 4, 4, std::size_t{1} << 30)) {
        const std::string what = fmt::format("laplace2d:{}", std::exchange(side, 2 * side));
        const gpulab::MatrixSize size = gpulab::generated_size(what);
        const MemoryNeed need = memory_need<T>(size);
        if (!growth.fits(fmt::format("{} rows", rows), size.nonzeros, need.device, need.host)) break;
        const Problem<T> p = make_problem(gpulab::generate_matrix<T>(what, options.seed()), options.seed());
        const Reference<T> reference = make_reference(p);
        Output<T> y(p.matrix.rows);
        report.begin({{"matrix", "laplace2d"},
                      {"type", sizeof(T) == 4 ? "float" : "double"},
                      {"rows", rows},
                      {"nonzeros", p.matrix.nonzeros()}});
        for (const auto& job : growth.jobs(variants<T>())) {
            report.doing(job.variant.name);
            gpulab::Result r = gpulab::run(job, p, y, options, [&] { return compare(reference, y); });
            growth.add_to(r, static_cast<double>(p.matrix.nonzeros()));
            report.add(std::move(r), work(p.matrix));
        }
    }
}

} // namespace

template <class T> FormatBytes format_bytes(const gpulab::Csr<T>& m) {
    const auto nonzeros = static_cast<double>(m.nonzeros()), rows = static_cast<double>(m.rows);
    const auto offset = static_cast<double>(gpulab::offset_bytes(m.nonzeros()));
    const auto longest = static_cast<double>(gpulab::row_statistics(m.row_start).longest);
    const double entries = nonzeros * (sizeof(T) + 4);
    return {{{"dense", gpulab::dense_bytes(m)},
             {"CSR", static_cast<double>(m.bytes())},
             {"COO", nonzeros * (sizeof(T) + 8)},
             {"CSC", entries + (static_cast<double>(m.columns) + 1) * offset},
             {"ELL", rows * longest * (sizeof(T) + 4)},
             {"DIA", gpulab::dia_bytes(m)},
             {"HYB", gpulab::hyb_bytes(m)},
             {"JDS", entries + 4 * rows + 8 * (longest + 1)},
             {"BCSR", gpulab::bcsr_bytes(m)},
             {"bins", entries + rows * 4}}};
}

double FormatBytes::of(std::string_view format) const {
    return std::ranges::find(all, format, [](const auto& one) { return lower(one.first); })->second;
}

template <class T> MemoryNeed memory_need(const gpulab::MatrixSize& size) {
    const auto rows = static_cast<double>(size.rows), columns = static_cast<double>(size.columns);
    const double entry = sizeof(T) + 4, vectors = (rows + columns) * sizeof(T);
    // A conversion may pad, as HYB does, and may sort the rows, as JDS does: the matrix twice more, 40 bytes for each
    // row. cpu_csc has 8 bytes of offsets for each column, and as much again while it is made.
    return {.device = size.nonzeros * (entry + 4) + 12 * rows + vectors,
            .host = 3 * size.nonzeros * entry + (8 + 40) * rows + 16 * columns + vectors + (sizeof(T) + 8.0) * rows};
}

void add_format_column(Report& report, const FormatBytes& bytes) {
    report.column("format", "format");
    if (std::min({bytes.of("ell"), bytes.of("dia"), bytes.of("bcsr")}) < bytes.of("csr"))
        report.say("the bound counts the bytes of CSR, so a smaller format can exceed 100 %");
}

void add_format(gpulab::Result& result, const FormatBytes& bytes) {
    const std::string format = format_of(result.variant);
    result.extra = {{"format", format}, {"format_bytes", bytes.of(format)}};
    if (result.prepared_ms > 0) {
        result.extra.emplace_back("preparation_ms", result.prepared_ms);
        result.extra.emplace_back("preparation_products", result.prepared_ms / result.kernel.median);
    }
}

std::vector<gpulab::StudySummary> study_list() {
    return {{"growth", "time per non-zero, from 4 rows to as many as fit or --rows", {"--type", "--rows"}},
            {"formats", "memory and time of each format for several matrices", {"--type", "--rows"}},
            {"kinds", "the CSR rungs against the library on matrices of twenty kinds", {"--type", "--rows"}},
            {"row-length",
             "rows of 1 to 1024 non-zeros, the same number of non-zeros in all: which rung wins where",
             {"--type", "--rows"}}};
}

template <class T> int run_study(const Options& options, std::size_t rows) {
    Report report(options);
    if (options.study() == "growth") growth<T>(options, report, rows);
    else if (options.study() == "formats") formats<T>(options, report, rows);
    else if (options.study() == "kinds") kinds<T>(options, report, rows);
    else if (options.study() == "row-length") row_length<T>(options, report, rows);
    else throw gpulab::UsageError("--study: '" + options.study() + "' is not known");
    return report.finish();
}

#define INSTANTIATE(T)                                             \
    template FormatBytes format_bytes(const gpulab::Csr<T>&);      \
    template MemoryNeed memory_need<T>(const gpulab::MatrixSize&); \
    template int run_study<T>(const Options&, std::size_t);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace spmv
