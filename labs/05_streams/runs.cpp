#include "runs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "gpulab/jobs.hpp"
#include "link.hpp"

namespace streams {

gpulab::Parameters parameters(const Problem& p) {
    return {{"width", static_cast<std::int64_t>(p.image.width)},
            {"height", static_cast<std::int64_t>(p.image.height)},
            {"channels", std::int64_t{p.image.channels}},
            {"streams", static_cast<std::int64_t>(p.streams)},
            {"work", std::int64_t{p.work}}};
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

Traces run_variants(const gpulab::Options& options, gpulab::Report& report, const Problem& p,
                    std::span<const gpulab::Variant<Run>> table, bool show_link) {
    const auto jobs = gpulab::jobs(table, options);
    const Output reference = reference_output(p);
    Output out = reference;
    Stopwatch sequential = p.work <= 16 ? Stopwatch(1, 3, 1.0) : Stopwatch(0, 1); // heavy work takes it seconds
    cpu_sequential(p, out, sequential);                                           // for its time only
    report.sequential_ms(sequential.kernel().median);

    report.column("overlap_percent", "overlap %"); // what else the results hold is the same for all rows of a device
    report.column("traced_ms", "traced ms");
    Traces traces;
    std::map<std::string, Link> links;
    // Every byte crosses twice, up and down; the CPU reads and writes it.
    const gpulab::Work work{.bytes = 2.0 * static_cast<double>(p.bytes())};
    for (const auto& job : jobs) {
        const bool linked = job.skip.empty() && job.device.backend != gpulab::Backend::cpu;
        if (linked && !links.contains(job.device.id())) {
            links[job.device.id()] = measure_link(job.device, p);
            if (show_link) say_link(report, links[job.device.id()], p.bytes());
        }
        gpulab::Result result = gpulab::run(job, p, out, options, [&] { return compare(reference, out); });
        if (result.kernel.repeats > 0 && linked) {
            const Link& link = links[job.device.id()];
            result.percent = 100 * bound_ms(link, p.bytes()) / result.kernel.median;
            if (has_copies(out.timeline)) {
                result.extra.push_back({"overlap_percent", overlap_percent(out.timeline)});
                result.extra.push_back({"traced_ms", out.traced_ms});
            }
            result.extra.push_back({"bound_ms", bound_ms(link, p.bytes())});
            result.extra.push_back({"together_ms", together_ms(link, p.bytes())});
            result.extra.push_back({"sum_ms", sum_ms(link, p.bytes())});
            result.extra.push_back({"pause_ms", link.pause_ms});
            result.extra.push_back({"strips_ms", strips_ms(link, p.bytes(), p.streams)});
        }
        const gpulab::Result& shown = report.add(std::move(result), work);
        if (shown.status != gpulab::Result::Status::passed) continue;
        if (!out.timeline.empty())
            traces.timelines.emplace_back(shown.variant + " on " + shown.device.id(), out.timeline);
        traces.last_right = out;
        traces.last_right_name = shown.variant + " on " + shown.device.id();
    }
    return traces;
}

} // namespace streams
