#include "runs.hpp"

#include <fmt/format.h>
#include <set>

namespace streams {

std::string asynchronous_speed_up(const std::vector<gpulab::Result>& results) {
    const auto is_right = [](const gpulab::Result& r) { return r.status == gpulab::Result::Status::passed; };
    std::string text;
    for (const auto& [asynchronous, synchronous] : {std::pair("opencl_queues", "opencl_in_order"),
                                                    {"cuda_async_pageable", "cuda_sync_pageable"},
                                                    {"cuda_depth_first", "cuda_sync_pinned"}})
        for (const gpulab::Result& one : results)
            for (const gpulab::Result& other : results)
                if (one.variant == asynchronous && other.variant == synchronous && is_right(one) && is_right(other) &&
                    one.device.id() == other.device.id() && one.kernel.median > 0)
                    text += fmt::format("{}: {} {:.2f} times as fast as {}\n", one.device.id(), asynchronous,
                                        other.kernel.median / one.kernel.median, synchronous);
    return text;
}

gpulab::Parameters parameters(const Problem& p) {
    return {{"width", p.image.width},
            {"height", p.image.height},
            {"channels", p.image.channels},
            {"streams", p.streams},
            {"work", p.work}};
}

namespace {
bool is_stage(const gpulab::TraceEvent& e) {
    return e.kind == "copy up" || e.kind == "kernel" || e.kind == "copy down";
}
} // namespace

double overlap_percent(const gpulab::Timeline& timeline) {
    gpulab::Timeline stages;
    for (const gpulab::TraceEvent& e : timeline.events())
        if (is_stage(e)) stages.add(e);
    return stages.overlap_percent();
}

std::vector<std::string> about_link(const Link& link, std::size_t bytes) {
    const std::size_t best = best_strips(link, bytes);
    return {
        fmt::format("link: up {:.1f} GB/s, down {:.1f} GB/s, each alone; {:.1f} and {:.1f} GB/s while the other "
                    "direction is busy",
                    link.up_alone, link.down_alone, link.up, link.down),
        fmt::format("bound: {:.4f} ms, the slowest stage; kernel alone {:.4f} ms; both copies at once, without strips, "
                    "{:.4f} ms; one stage after the other {:.4f} ms",
                    bound_ms(link, bytes), link.kernel_ms, together_ms(link, bytes), sum_ms(link, bytes)),
        fmt::format("pause: each strip costs {:.1f} us beside its bytes; the model's best is {} strips, {:.4f} ms{}",
                    1e3 * link.pause_ms, best, strips_ms(link, bytes, best),
                    best == max_strips ? " (more were not tried)" : ""),
        fmt::format("page-locked memory for image and result: {:.2f} ms to allocate and free", link.pin_ms)};
}

gpulab::Parameters link_values(const Link& link, const Problem& p) {
    return {{"bound_ms", bound_ms(link, p.bytes())},
            {"together_ms", together_ms(link, p.bytes())},
            {"sum_ms", sum_ms(link, p.bytes())},
            {"pause_ms", link.pause_ms},
            {"pin_ms", link.pin_ms},
            {"strips_ms", strips_ms(link, p.bytes(), p.streams)}};
}

namespace {

/// Whether a timeline can show that stages overlap: it needs more than one.
bool has_stages(const gpulab::Timeline& t) {
    std::set<std::string> kinds;
    for (const gpulab::TraceEvent& e : t.events())
        if (is_stage(e)) kinds.insert(e.kind);
    return kinds.size() > 1;
}

} // namespace

LinkNotes::LinkNotes(gpulab::Report& report, const Problem& p, const Output& out,
                     const std::vector<gpulab::Job<Run>>& jobs)
    : report_(report), problem_(p), out_(out) {
    report.column("overlap_percent", "overlap %"); // other results are the same for all rows of a device
    report.column("traced_ms", "traced ms");
    for (const auto& job : jobs) {
        const std::string id = job.device().id();
        if (job.skip.empty() && job.variant.backend != gpulab::Backend::cpu && !job.device().emulated &&
            !links_.contains(id))
            try {
                links_[id] = measure_link(job.device(), p);
            } catch (const std::exception& e) { // its variants say why they cannot run
                if (gpulab::why_unable(e, job.device()).empty()) throw;
            }
    }
}

void LinkNotes::add(const gpulab::Job<Run>& job, gpulab::Result& result) {
    const std::size_t bytes = problem_.bytes();
    const std::string id = job.device().id();
    if (job.skip.empty() && unsaid_.contains(id)) {
        for (const std::string& text : about_link(unsaid_[id], bytes)) report_.say(text);
        unsaid_.erase(id);
    }
    if (result.kernel.repeats > 0 && links_.contains(id)) {
        const Link& link = links_[id];
        result.percent = 100 * bound_ms(link, bytes) / result.kernel.median;
        if (has_stages(out_.timeline)) {
            result.extra.push_back({"overlap_percent", overlap_percent(out_.timeline)});
            result.extra.push_back({"traced_ms", out_.traced_ms});
        }
        for (const gpulab::Parameter& value : link_values(link, problem_)) result.extra.push_back(value);
    }
    if (result.status != gpulab::Result::Status::passed) return;
    const std::string name = result.variant + " on " + result.device.id();
    if (!out_.timeline.empty()) traces_.timelines.emplace_back(name, out_.timeline);
    traces_.last_right = out_;
    traces_.last_right_name = name;
}

gpulab::Sequential sequential(const Problem& p, Output& out) {
    const Stopwatch watch = p.work <= 16 ? Stopwatch(1, 3, 1.0) : Stopwatch(0, 1); // with much work it takes seconds
    return gpulab::sequential(variants(), "cpu_sequential", p, out, watch);
}

namespace {
/// "(12, 200, 3, 255)"
std::string pixel(const std::vector<unsigned char>& bytes, std::size_t first, int channels) {
    std::string text;
    for (int c = 0; c < channels; ++c) text += fmt::format("{}{}", c == 0 ? "(" : ", ", bytes[first + c]);
    return text + ")";
}
} // namespace

void print_samples(const Problem& p, const Traces& traces) {
    if (traces.last_right_name.empty()) return;
    fmt::print("\nPixels before and after ({}):\n", traces.last_right_name);
    const auto channels = static_cast<std::size_t>(p.image.channels);
    for (std::size_t i = 0; i < std::min<std::size_t>(10, p.bytes() / channels); ++i)
        fmt::print("  {} {} -> {}\n", i, pixel(p.image.pixels, i * channels, p.image.channels),
                   pixel(traces.last_right.pixels, i * channels, p.image.channels));
}

} // namespace streams
