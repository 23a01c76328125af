/// @file
/// Stored results, such as those of a GPU that the reader does not have: the folders of docs/results.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/ceilings.hpp"
#include "gpulab/report.hpp"

namespace gpulab {

/// One run of a file of results.
struct RecordedRun {
    std::string file; ///< its name, without the folder
    std::string date; ///< of the run: "2026-11-22", or empty
    std::string study;
    Parameters problem; ///< without the seed
    std::vector<std::pair<Result, Ceilings>> results;
};

/// The names that --recorded takes: the folders with results. The environment variable GPULAB_RESULTS names another
/// place than docs/results.
std::vector<std::string> recorded_names();

/// The runs of a lab in one of these folders.
/// @throws Error with one line about a file that does not hold results
std::deque<RecordedRun> recorded_runs(const std::string& name, const std::string& lab);

/// Whether two problems have the same parameters with the same values.
bool same_problem(const Parameters& one, const Parameters& other);

} // namespace gpulab
