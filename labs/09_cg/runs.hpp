/// @file
/// What single runs and studies share: which variant runs where, and what is reported about each result.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpulab/jobs.hpp"
#include "program.hpp"

namespace cg {

/// gpulab::jobs(), but a rung for several devices appears once, with all chosen devices of its back end: with the GPUs
/// only, where there are some and the user has not chosen devices by name.
/// @param parts of such a rung, which uses no more devices than it has parts; 0: as many parts as devices
/// Such a rung of CUDA is skipped with --flush-l2.
template <class T> std::vector<gpulab::Job<Run<T>>> jobs(const gpulab::Options& options, std::size_t parts = 0);

/// Why a rung cannot run with these options, whatever the devices are; "" when it can.
std::string refused_option(const gpulab::Options& options, std::string_view variant);

/// Gives the number of iterations and the time of one a column of the table.
void add_columns(gpulab::Report& report);
/// The values of these columns. @param ms of the whole solution
template <class T> gpulab::Parameters iteration_values(const Output<T>& out, double ms);

/// Adds the lab's own figures to the results, and keeps what is to be written into files.
///
/// Extra values: iterations, us_per_iteration, residual (the true one, relative to the norm of b); the number of
/// devices, for rungs that take several; and for rungs that time their kernels ms_dot, ms_next_x, ms_next_r, ms_next_p,
/// ms_spmv, with several devices ms_pack, and ms_overhead, each the sum over the whole solution. In rungs that compute
/// two of them in one kernel, ms_spmv includes p . q, ms_next_r the sums of r, and ms_next_x the next p. The kernels'
/// times are of one run after the timed ones; ms_overhead is the median of the timed ones less these times, at least 0.
template <class T> class Notes {
public:
    Notes(const Problem<T>& p, const Output<T>& out) : problem_(p), out_(out) {}
    /// Adds to a result.
    void add(const gpulab::Job<Run<T>>& job, gpulab::Result& result);

    std::string solver; ///< the first variant that has converged, or else the first one; empty: none is right
    Output<T> solution; ///< what it found
    std::vector<NamedHistory> histories;                             ///< of all that are right
    std::vector<std::pair<std::string, gpulab::Timeline>> timelines; ///< of those that recorded one
    std::vector<std::string> printed;                                ///< notes of the rungs, each once
    std::vector<gpulab::Result> timed; ///< of those that time their kernels, for kernel_times()

private:
    const Problem<T>& problem_;
    const Output<T>& out_;
};

/// A table of the whole time, the time of each kernel, and the overhead left over, as tables 4.5 and 4.6 of the thesis:
/// 80 characters wide. Of several devices it is the time of the one in which that kind of kernel took longest.
/// @param heading what is shown, in its unit: milliseconds @param results with the extra values of Notes
std::string kernel_times(const std::string& heading, const std::vector<gpulab::Result>& results);

/// Prints and writes what the run leaves besides the report's table: times of kernels, notes, histories, and the
/// iteration that was recorded. @return false when a trace is wanted and none was recorded
template <class T> bool print_notes(const Notes<T>& notes, Files& files);

/// The problem's parameters for the report, and what a study shows behind them.
template <class T>
gpulab::Parameters parameters(const Problem<T>& p, const std::string& matrix, const gpulab::Parameters& more = {});

} // namespace cg
