/// @file
/// The variants for interleaved data, measured with both layouts: transposing counted, and not counted.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "gpulab/jobs.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal {

/// Whether a variant works on interleaved data: those that do have names that end in "_interleaved".
constexpr bool interleaves(std::string_view variant) { return variant.ends_with("_interleaved"); }

/// The layout that the user has not chosen.
constexpr Layout other(Layout layout) { return layout == Layout::separate ? Layout::interleaved : Layout::separate; }

/// The result that measure_other_layout() adds: the time with this layout.
constexpr const char* time_with(Layout layout) { return layout == Layout::separate ? "separate_ms" : "interleaved_ms"; }

/// Gives a column to the time with the other layout, if a variant for interleaved data runs.
template <class T>
void add_layout_column(gpulab::Report& report, const std::vector<gpulab::Job<Run<T>>>& jobs, Layout layout) {
    if (std::ranges::any_of(jobs, [](const auto& job) { return job.skip.empty() && interleaves(job.variant.name); }))
        report.column(time_with(other(layout)), layout == Layout::separate ? "interl. ms" : "separate ms", "{:.3f}");
}

/// Measures a variant for interleaved data again, with the other layout, and adds the time to its result. If that run
/// is wrong, so is the result. Other variants read one system after the other, whatever the layout.
template <class T, class Judge>
void measure_other_layout(const gpulab::Options& options, const gpulab::Job<Run<T>>& job, Problem<T>& problem,
                          Output<T>& out, const Judge& judge, gpulab::Result& result) {
    if (!interleaves(job.variant.name)) return;
    const Layout chosen = problem.layout;
    problem.layout = other(chosen);
    const gpulab::Result again = gpulab::run(job, problem, out, options, judge);
    if (again.kernel.median > 0) result.extra.push_back({time_with(problem.layout), again.kernel.median});
    problem.layout = chosen;
    if (again.status == gpulab::Result::Status::passed) return;
    result.status = again.status;
    result.reason = "with the other layout: " + again.reason;
}

} // namespace tridiagonal
