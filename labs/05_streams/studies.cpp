#include "studies.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "gpulab/growth.hpp"
#include "runs.hpp"

namespace streams {

using gpulab::Options;
using gpulab::Report;
using gpulab::Variant;

namespace {

/// The rows of the variant table with these names that the user wants, in the table's order.
std::vector<Variant<Run>> rows(const Options& options, std::initializer_list<std::string_view> names) {
    std::vector<Variant<Run>> list;
    for (const auto& v : variants())
        if (std::find(names.begin(), names.end(), v.name) != names.end() && options.wants(v.name, v.backend))
            list.push_back(v);
    if (list.empty()) throw gpulab::UsageError("--study " + options.study() + ": none of its variants was chosen");
    return list;
}

/// Measures variants on a problem.
/// @param show_link print the link's rates and bounds above a device's rows: for a problem whose bounds differ from the
///        last one's
void measure(const Options& options, Report& report, const Problem& p, const std::vector<Variant<Run>>& table,
             bool show_link) {
    const auto jobs = gpulab::jobs(table, options);
    const Output reference = reference_output(p);
    Output out = reference;
    if (std::ranges::any_of(jobs, [](const auto& job) { return job.skip.empty(); })) // else nothing is compared with it
        report.sequential(sequential(p, out));
    LinkNotes notes(report, p, out, jobs);
    if (show_link) notes.say_links();
    for (const auto& job : jobs) {
        report.doing(job.variant.name);
        gpulab::Result r = gpulab::run(job, p, out, options, [&] { return compare(reference, out); });
        notes.add(job, r);
        report.add(std::move(r), work_of(p));
    }
}

/// 1 ... 32 strips: from which number on are fill and drain short, and when do the fixed costs of a strip show?
void stream_count(const Options& options, Report& report, Problem p) {
    const auto table = rows(options, {"opencl_queues", "opencl_pinned", "cuda_sync_pageable", "cuda_sync_pinned",
                                      "cuda_depth_first", "cuda_breadth_first", "cuda_pipeline", "cuda_polling"});
    report.column("strips_ms", "strips ms");
    bool first = true;
    for (const std::size_t count : {1, 2, 3, 4, 6, 8, 12, 14, 16, 24, 32}) {
        p.streams = count;
        report.begin(parameters(p));
        measure(options, report, p, table, std::exchange(first, false));
    }
}

/// More and more work per byte: where does the pipeline change from copy-bound to compute-bound?
void work(const Options& options, Report& report, Problem p) {
    const auto table = rows(options, {"cpu_threads", "opencl_in_order", "opencl_pinned", "cuda_sync_pinned",
                                      "cuda_pipeline", "cuda_mapped"});
    for (const unsigned rounds : {0, 4, 16, 32, 64, 128, 256}) {
        p.work = rounds;
        report.begin(parameters(p));
        measure(options, report, p, table, true); // the kernel's time, and with it the bound, changes each time
    }
}

/// Pageable and page-locked memory, each with and without waiting for every copy.
void memory(const Options& options, Report& report, Problem p) {
    report.begin(parameters(p));
    measure(options, report, p,
            rows(options, {"opencl_in_order", "opencl_queues", "opencl_pinned", "cuda_sync_pageable",
                           "cuda_sync_pinned", "cuda_async_pageable", "cuda_depth_first", "cuda_mapped"}),
            true);
}

/// How many blocks fill the link, and from which number on do they hinder each other?
void blocks(const Options& options, Report& report, Problem p) {
    const auto table = rows(options, {"cuda_mapped"});
    report.column("mapped_blocks", "blocks");
    bool first = true;
    for (const unsigned count : {4u, 8u, 16u, 32u, 64u, 128u, 256u, 512u, 1024u}) {
        p.mapped_blocks = count;
        gpulab::Parameters problem = parameters(p);
        problem.push_back({"mapped_blocks", count});
        report.begin(problem);
        measure(options, report, p, table, std::exchange(first, false));
    }
}

/// Time per byte of square images from 16 x 16 pixels on, as far as memory and patience go.
void growth(const Options& options, Report& report, Problem p) {
    gpulab::Growth growth(options, report, "byte",
                          {"cpu_sequential", "cpu_threads", "opencl_in_order", "opencl_pinned", "cuda_sync_pinned",
                           "cuda_pipeline", "cuda_mapped", "cuda_polling"});
    report.column("width", "width");
    report.column("height", "height");
    const int channels = p.image.channels;
    for (const std::size_t side : growth.sizes("--width", p.image.width, 16, 2, 1u << 24)) {
        const double bytes = static_cast<double>(side) * static_cast<double>(side) * channels;
        const MemoryNeed need = memory_need(bytes);
        if (!growth.fits(fmt::format("{0} x {0} pixels", side), bytes, need.device, need.host)) break;
        p.image = random_image(side, side, channels, options.seed());
        const Output reference = reference_output(p);
        Output out = reference;
        report.begin(parameters(p));
        const auto jobs = growth.jobs(variants());
        LinkNotes notes(report, p, out, jobs);
        for (const auto& job : jobs) {
            report.doing(job.variant.name);
            gpulab::Result r = gpulab::run(job, p, out, options, [&] { return compare(reference, out); });
            notes.add(job, r);
            growth.add_to(r);
            report.add(std::move(r), work_of(p));
        }
    }
}

struct Study {
    const char* name;
    const char* summary;
    void (*run)(const Options&, Report&, Problem);
    std::vector<std::string> own; ///< the options that it varies itself and therefore refuses
};

const Study studies[] = {
    {"growth", "time per byte, from 16 x 16 pixels to as many as fit or --width", growth, {"--input", "--height"}},
    {"streams",
     "1 ... 32 strips: when are fill and drain short, when do fixed costs show?",
     stream_count,
     {"--streams"}},
    {"work", "0 ... 256 rounds of work per byte: from copy-bound to compute-bound", work, {"--work"}},
    {"blocks", "how many blocks for a kernel that loads and stores across the link? (CUDA)", blocks, {}},
    {"memory", "pageable and page-locked memory, with and without waiting", memory, {}},
};

} // namespace

MemoryNeed memory_need(double bytes) {
    constexpr double link_bytes = 2.0 * (1 << 26);
    return {.device = 3 * bytes + link_bytes, .host = 9 * bytes + link_bytes};
}

std::vector<gpulab::StudySummary> study_list() {
    std::vector<gpulab::StudySummary> list;
    for (const Study& study : studies) {
        std::vector<std::string> takes = {"--input", "--width", "--height", "--channels", "--work", "--streams"};
        for (const std::string& own : study.own) std::erase(takes, own);
        list.push_back({study.name, study.summary, takes});
    }
    return list;
}

int run_study(const Options& options, Problem p) {
    Report report(options);
    for (const Study& study : studies)
        if (study.name == options.study()) study.run(options, report, p);
    return report.finish();
}

} // namespace streams
