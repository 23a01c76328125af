#include "runs.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace streams {

gpulab::Parameters parameters(const Problem& p) {
    return {{"width", p.image.width},
            {"height", p.image.height},
            {"channels", p.image.channels},
            {"streams", p.streams},
            {"work", p.work}};
}

double overlap_percent(const gpulab::Timeline& timeline) {
    gpulab::Timeline stages;
    for (const gpulab::TraceEvent& e : timeline.events())
        if (e.kind == "copy up" || e.kind == "kernel" || e.kind == "copy down") stages.add(e);
    return stages.overlap_percent();
}

namespace {

/// What holds for all rows of a device.
void say_link(gpulab::Report& report, const Link& link, std::size_t bytes) {
    report.say(fmt::format("link: up {:.1f} GB/s, down {:.1f} GB/s alone; {:.1f} and {:.1f} GB/s with the other "
                           "direction busy",
                           link.up_alone, link.down_alone, link.up, link.down));
    report.say(fmt::format("bound: {:.4f} ms, the slowest stage; kernel alone {:.4f} ms; both ways at once and nothing "
                           "else {:.4f} ms; one stage after the other {:.4f} ms",
                           bound_ms(link, bytes), link.kernel_ms, together_ms(link, bytes), sum_ms(link, bytes)));
    report.say(fmt::format("pause: a strip costs {:.1f} us beside its bytes; equal strips can come near {:.4f} ms, {} "
                           "of them",
                           1e3 * link.pause_ms, strips_ms(link, bytes, best_strips(link, bytes)),
                           best_strips(link, bytes)));
}

/// Whether the timeline can tell an overlap of stages: with a single kind of command there is none to see.
bool has_copies(const gpulab::Timeline& t) {
    return std::any_of(t.events().begin(), t.events().end(), [](const auto& e) { return e.kind != "kernel"; });
}

} // namespace

LinkNotes::LinkNotes(gpulab::Report& report, const Problem& p, const Output& out,
                     const std::vector<gpulab::Job<Run>>& jobs)
    : report_(report), problem_(p), out_(out) {
    report.column("overlap_percent", "overlap %"); // what else the results hold is the same for all rows of a device
    report.column("traced_ms", "traced ms");
    for (const auto& job : jobs) {
        const std::string id = job.device().id();
        if (job.skip.empty() && job.variant.backend != gpulab::Backend::cpu && !links_.contains(id))
            links_[id] = measure_link(job.device(), p);
    }
}

void LinkNotes::add(const gpulab::Job<Run>& job, gpulab::Result& result) {
    const std::size_t bytes = problem_.bytes();
    const std::string id = job.device().id();
    if (job.skip.empty() && unsaid_.contains(id)) {
        say_link(report_, unsaid_[id], bytes);
        unsaid_.erase(id);
    }
    if (result.kernel.repeats > 0 && links_.contains(id)) {
        const Link& link = links_[id];
        result.percent = 100 * bound_ms(link, bytes) / result.kernel.median;
        if (has_copies(out_.timeline)) {
            result.extra.push_back({"overlap_percent", overlap_percent(out_.timeline)});
            result.extra.push_back({"traced_ms", out_.traced_ms});
        }
        result.extra.push_back({"bound_ms", bound_ms(link, bytes)});
        result.extra.push_back({"together_ms", together_ms(link, bytes)});
        result.extra.push_back({"sum_ms", sum_ms(link, bytes)});
        result.extra.push_back({"pause_ms", link.pause_ms});
        result.extra.push_back({"strips_ms", strips_ms(link, bytes, problem_.streams)});
    }
    if (result.status != gpulab::Result::Status::passed) return;
    const std::string name = result.variant + " on " + result.device.id();
    if (!out_.timeline.empty()) traces_.timelines.emplace_back(name, out_.timeline);
    traces_.last_right = out_;
    traces_.last_right_name = name;
}

double sequential_ms(const Problem& p, Output& out) {
    const Stopwatch watch = p.work <= 16 ? Stopwatch(1, 3, 1.0) : Stopwatch(0, 1); // heavy work takes it seconds
    return gpulab::sequential_ms(gpulab::run_of(variants(), "cpu_sequential"), p, out, watch);
}

} // namespace streams
