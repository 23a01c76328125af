/// @file
/// What single runs and studies of this lab share: results compared with the link's bound, and the timelines.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/jobs.hpp"
#include "gpulab/trace/trace.hpp"
#include "link.hpp"
#include "streams.hpp"

namespace streams {

/// What a run leaves besides the report's table.
struct Traces {
    std::vector<std::pair<std::string, gpulab::Timeline>> timelines; ///< with names such as "cuda_pipeline on cuda:0"
    Output last_right;                                               ///< the last output that was right
    std::string last_right_name;
};

/// What the loop over the variants adds to each result:
///   percent            of bound_ms() (GPU and OpenCL variants; CPU variants are compared with the memory copy)
///   bound_ms, together_ms, sum_ms, strips_ms, pause_ms, pin_ms   see link.hpp; from this run's measurements
///   overlap_percent    from the timeline, if it contains copies; see overlap_percent()
///   traced_ms          the time of the pass that the timeline shows, with events around every command
class LinkNotes {
public:
    /// Gives overlap_percent and traced_ms a column, and measures the link of every device that a job runs on.
    /// @param out where the variants leave their output
    LinkNotes(gpulab::Report& report, const Problem& p, const Output& out, const std::vector<gpulab::Job<Run>>& jobs);

    /// Prints the link's rates and bounds above each device's rows.
    void say_links() { unsaid_ = links_; }

    /// Adds to a result and keeps its timeline and output.
    void add(const gpulab::Job<Run>& job, gpulab::Result& result);

    const Traces& traces() const { return traces_; }

private:
    gpulab::Report& report_;
    const Problem& problem_;
    const Output& out_;
    std::map<std::string, Link> links_;  // by Device::id()
    std::map<std::string, Link> unsaid_; // not printed yet
    Traces traces_;
};

/// What holds for all rows of a device, a paragraph each: the link's rates, the bound, the pause, page-locked memory.
std::vector<std::string> about_link(const Link& link, std::size_t bytes);

/// What each result of a device has beside its times.
gpulab::Parameters link_values(const Link& link, const Problem& p);

/// The bytes that must move: each byte crosses the link twice, up and down; a CPU reads and writes it.
inline gpulab::Work work_of(const Problem& p) { return {.bytes = 2.0 * static_cast<double>(p.bytes())}; }

/// cpu_sequential, to which speed-ups refer, and its time. @param out receives its result
gpulab::Sequential sequential(const Problem& p, Output& out);

/// The percentage of the busy time in which at least two of copy up, kernel and copy down run.
/// Other kinds are drawn but not counted: the kernel of cuda_polling mostly waits.
double overlap_percent(const gpulab::Timeline& timeline);

/// What the lecture's program prints at its end (Aula 17, program 2): how many times as fast as its synchronous
/// counterpart an asynchronous variant was, a line for each such pair on a device. Empty when there is none.
/// @param results of all variants; those that were not right do not count
std::string asynchronous_speed_up(const std::vector<gpulab::Result>& results);

/// Prints the first pixels before and after the last right variant.
void print_samples(const Problem& p, const Traces& traces);

/// The sizes and settings of a problem, for the report.
gpulab::Parameters parameters(const Problem& p);

} // namespace streams
