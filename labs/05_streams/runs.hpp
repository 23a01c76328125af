/// @file
/// Runs of this lab: one problem through a list of variants, each held against the link's bound.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
#include "gpulab/trace.hpp"
#include "streams.hpp"

namespace streams {

/// What is left of a run beside the report's table.
struct Traces {
    std::vector<std::pair<std::string, gpulab::Timeline>> timelines; ///< "cuda_pipeline on cuda:0"
    Output last_right;                                               ///< the last output that was right
    std::string last_right_name;
};

/// Runs variants on a problem, compares each output with the reference, and adds it to the report with
///   percent            of bound_ms() (GPU and OpenCL variants; CPU ones stand against the memory copy as ever)
///   bound_ms, together_ms, sum_ms, strips_ms, pause_ms   see link.hpp; from what was measured in this run
///   overlap_percent    from the timeline, where there are copies in it; see overlap_percent()
///   traced_ms          what the pass took that the timeline was made from, with events around every command
/// @param show_link say the link's rates and bounds above a device's rows
Traces run_variants(const gpulab::Options& options, gpulab::Report& report, const Problem& p,
                    std::span<const gpulab::Variant<Run>> table, bool show_link);

/// Of the time in which one of copy up, kernel and copy down runs, the percentage in which two or three of them do.
/// Other kinds are drawn but not counted: the zero-copy kernel of cuda_mixed runs all the time, whatever the rest does,
/// and the kernels of cuda_polling mostly wait.
double overlap_percent(const gpulab::Timeline& timeline);

/// The sizes and settings of a problem, for the report.
gpulab::Parameters parameters(const Problem& p);

} // namespace streams
