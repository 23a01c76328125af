/// @file
/// What a run found out: a table for people, JSON and CSV for programs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gpulab/ceilings.hpp"
#include "gpulab/compare.hpp"
#include "gpulab/device.hpp"
#include "gpulab/options.hpp"
#include "gpulab/stopwatch.hpp"

namespace gpulab {

/// The bytes that must move and the operations that must be done, whatever the variant does in fact.
struct Work {
    double bytes = 0;
    double flops = 0;
    Arithmetic arithmetic = Arithmetic::none; ///< which arithmetic ceiling binds, if any
};

/// The name of a parameter and its value, as JSON and CSV show them.
struct Parameter {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;
};
/// Parameters in the order in which they are shown.
using Parameters = std::vector<Parameter>;

/// What became of one variant on one device.
struct Result {
    /// How it ended.
    /// unjudged: it ran, and its output has not been compared yet; Report::add takes no such result.
    enum class Status { passed, failed, skipped, unjudged };

    std::string variant;
    Backend backend = Backend::cpu;
    Device device; ///< meaningless when skipped for want of a device (has_device is false)
    bool has_device = false;
    Status status = Status::skipped;
    std::string reason; ///< why failed or skipped
    Timing kernel;
    double total_ms = 0; ///< host data to host data: allocate, copy in, one kernel, copy out; 0: not measured
    double error = 0;
    double tolerance = 0;
    Work work;          ///< filled in by Report::add
    double percent = 0; ///< of the roofline ceiling; filled in by Report::add unless the lab set a bound of its own
    double speedup = 0; ///< over the sequential CPU; filled in by Report::add
    Parameters extra;   ///< further columns of the lab: threads per block, occupancy, overlap

    /// Whether it produced an output to compare.
    bool ran() const { return status == Status::unjudged; }
    /// Takes over a comparison: passed or failed with its message.
    void judge(const Comparison& comparison);
    double gb_per_s() const;
    double gflop_per_s() const;
};

/// "passed", "failed", "skipped" or "unjudged".
std::string_view name_of(Result::Status status);

/// Collects results, shows each in a table as it comes, and writes the files at the end.
///
///     Report report(options, {{"n", n}});
///     report.sequential_ms(time_of_the_reference);
///     report.add(result, {.bytes = 12.0 * n, .flops = 2.0 * n});
///     return report.finish();
///
/// A study calls begin() once per problem; its files then hold a list of runs.
class Report {
public:
    /// Opens the files of --json and --csv at once, so that an unwritable one is known before anything is measured.
    /// @param problem the parameters of the (first) problem; for a study, leave it out and call begin()
    /// @throws UsageError when a file cannot be written
    explicit Report(const Options& options, Parameters problem = {});
    ~Report();
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    /// Starts the next problem of a study.
    void begin(Parameters problem);

    /// The sequential CPU time that speed-ups of the current problem refer to.
    void sequential_ms(double ms);

    /// Adds one result, shows its row, and works out its percent of the ceiling and its speed-up.
    /// @return the result as completed
    /// @throws Error when the variant ran but nobody compared its output
    const Result& add(Result result, const Work& work);

    /// Shows tables of its own instead of the standard one: a study that prints a table of the book.
    /// While quiet, a terminal still shows one line of progress.
    void quiet(bool quiet);

    /// Prints the closing line and writes the files.
    /// @return exit_success, or exit_wrong_result when any result failed
    int finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace gpulab
