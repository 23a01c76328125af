/// @file
/// What a Report writes for programs: JSON and CSV.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "gpulab/report.hpp"

namespace gpulab {

/// The results for one problem.
struct ReportedRun {
    Parameters problem;
    Sequential sequential;
    std::deque<Result> results; ///< a deque: Report::add() hands out references
};

/// A device that took part, and what was measured on it.
struct ReportedDevice {
    Device device;
    Ceilings ceilings;
    std::optional<GpuState> before = {}, after = {}; ///< of a GPU, where the driver was asked
    int others = 0;                                  ///< the most processes beside this one that were seen on it
};

/// Milliseconds for which the driver kept a GPU's clocks low between two moments, and why.
struct Slowed {
    double by_power = 0, by_heat = 0;
};
Slowed slowed(const ReportedDevice& device);

/// What the files hold.
struct Reported {
    const Options& options;
    std::string date; ///< of the runs; empty: unknown
    std::deque<ReportedRun> runs = {};
    std::map<std::string, ReportedDevice> devices = {}; ///< that took part, by id
};

/// One object for a single run, a list of them for a study.
std::string json_text(const Reported& all);

/// One line of headings, and one line for each result, with all that the JSON text says of it. A number has the fewest
/// digits that read back the same. Where a lab's own figure has the name of a field, the figure has the column.
std::string csv_text(const Reported& all);

} // namespace gpulab
