/// @file
/// How many work-groups per compute unit the OpenCL kernels get, found by trying.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cg {

/// The most groups per compute unit that are tried.
inline constexpr std::size_t max_groups = 32;

/// The names of the five kernels.
inline constexpr std::array<const char*, 5> kernel_names = {"dot", "next_p", "next_r", "next_x", "spmv"};

/// What was found for one kernel on one kind of device.
struct Tuned {
    std::string device; ///< its name; identical devices have the same
    std::string kernel;
    std::string type;       ///< "float" or "double"
    std::size_t rows = 0;   ///< of the problem that it was tried with
    std::size_t groups = 1; ///< per compute unit
    double one_ms = 0;      ///< with one group per compute unit
    double best_ms = 0;     ///< with `groups`
};

/// Tries 1, 2, 3, ... groups and stops at the first local minimum: when one more group is not faster.
/// @param time `time(groups)`: how long it takes, in any unit
/// @return the groups, and the first and best time, in a Tuned without names
Tuned first_local_minimum(const std::function<double(std::size_t)>& time, std::size_t most = max_groups);

/// The same with several runs of each number of groups, of which the fastest counts. With few rows, where trying cannot
/// pay, only one and two groups are tried.
/// @param run `run(groups)`: the time of one run @param rows of the system
Tuned fastest_groups(const std::function<double(std::size_t)>& run, std::size_t rows);

/// What a time saves against the time of one group per compute unit, in percent; 0 when that is 0.
double saved_percent(double one_ms, double ms);

/// What has been found so far, in this program and, with a file, in earlier ones.
class TuningCache {
public:
    /// @param path file to read now, if it exists, and to write with store(); empty: none
    /// @throws gpulab::UsageError when the file is no such table, cannot be read, or is neither a regular file nor a
    /// pipe
    explicit TuningCache(std::string path);
    /// The entry of a device, kernel, type and number of rows, if there is one.
    std::optional<Tuned> find(const std::string& device, const std::string& kernel, const std::string& type,
                              std::size_t rows) const;
    /// Adds an entry, and writes the file.
    void store(const Tuned& entry);
    /// The file's text: CSV with a heading.
    std::string text() const;

private:
    std::string path_;
    std::vector<Tuned> entries_;
};

/// A table of entries for people, as table 4.4 of the thesis: the time of one group per compute unit, the best time,
/// its number of groups, and what was saved. @param entries of one device, type and number of rows; at least one
std::string tuning_table(const std::vector<Tuned>& entries);

/// Finds the groups of a kernel on a device, or takes them from what was found earlier for its name.
/// @param file see TuningCache @param type "float" or "double" @param time `time(groups)`: of one run
Tuned find_groups(const std::string& file, const std::string& device, const std::string& kernel,
                  const std::string& type, std::size_t rows, const std::function<double(std::size_t)>& time);

} // namespace cg
