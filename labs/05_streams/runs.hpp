/// @file
/// What single runs and studies of this lab share: results held against the link's bound, and what ran when.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/jobs.hpp"
#include "gpulab/report.hpp"
#include "gpulab/trace/trace.hpp"
#include "link.hpp"
#include "streams.hpp"

namespace streams {

/// What is left of a run beside the report's table.
struct Traces {
    std::vector<std::pair<std::string, gpulab::Timeline>> timelines; ///< "cuda_pipeline on cuda:0"
    Output last_right;                                               ///< the last output that was right
    std::string last_right_name;
};

/// What the loop over the variants adds to each result:
///   percent            of bound_ms() (GPU and OpenCL variants; CPU ones stand against the memory copy as ever)
///   bound_ms, together_ms, sum_ms, strips_ms, pause_ms   see link.hpp; from what was measured in this run
///   overlap_percent    from the timeline, where there are copies in it; see overlap_percent()
///   traced_ms          what the pass took that the timeline was made from, with events around every command
class LinkNotes {
public:
    /// Gives overlap_percent and traced_ms a column, and measures the link of every device that a job runs on.
    /// @param out where the variants leave their output
    LinkNotes(gpulab::Report& report, const Problem& p, const Output& out, const std::vector<gpulab::Job<Run>>& jobs);

    /// Says the link's rates and bounds above a device's rows.
    void say_links() { unsaid_ = links_; }

    /// Adds to a result, and keeps what is left of the run beside it. A note for gpulab::measure_all().
    void add(const gpulab::Job<Run>& job, gpulab::Result& result);

    const Traces& traces() const { return traces_; }

private:
    gpulab::Report& report_;
    const Problem& problem_;
    const Output& out_;
    std::map<std::string, Link> links_;  // by Device::id()
    std::map<std::string, Link> unsaid_; // to be said above their rows
    Traces traces_;
};

/// The bytes that must move: every byte crosses twice, up and down; the CPU reads and writes it.
inline gpulab::Work work_of(const Problem& p) { return {.bytes = 2.0 * static_cast<double>(p.bytes())}; }

/// How long cpu_sequential takes, in milliseconds. @param out its answer
double sequential_ms(const Problem& p, Output& out);

/// Of the time in which one of copy up, kernel and copy down runs, the percentage in which two or three of them do.
/// Other kinds are drawn but not counted: the zero-copy kernel of cuda_mixed runs all the time, whatever the rest does,
/// and the kernels of cuda_polling mostly wait.
double overlap_percent(const gpulab::Timeline& timeline);

/// The sizes and settings of a problem, for the report.
gpulab::Parameters parameters(const Problem& p);

} // namespace streams
