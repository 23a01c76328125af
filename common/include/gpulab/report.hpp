/// @file
/// The results of a run: a table for people, JSON and CSV for programs.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gpulab/ceilings.hpp"
#include "gpulab/compare.hpp"
#include "gpulab/device.hpp"
#include "gpulab/gpu_state.hpp"
#include "gpulab/options.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/terminal.hpp"

namespace gpulab {

/// The bytes that must move and the operations that must be done, whatever the variant actually does.
struct Work {
    double bytes = 0;
    double flops = 0;
    Arithmetic arithmetic = Arithmetic::none; ///< which arithmetic ceiling binds, if any
};

/// The name of a parameter and its value, as JSON and CSV show them: a whole number, a number, or a text.
struct Parameter {
    /// A whole number. @pre at most 2^63 - 1
    template <std::integral Whole>
    Parameter(std::string n, Whole v) : name(std::move(n)), value(static_cast<std::int64_t>(v)) {}
    /// A number.
    Parameter(std::string n, double v) : name(std::move(n)), value(v) {}
    /// A text.
    Parameter(std::string n, std::string v) : name(std::move(n)), value(std::move(v)) {}
    /// A text.
    Parameter(std::string n, const char* v) : name(std::move(n)), value(std::string(v)) {}

    std::string name;
    std::variant<std::int64_t, double, std::string> value;
};
/// Parameters in the order in which they are shown.
using Parameters = std::vector<Parameter>;

/// The result of one variant on one device.
struct Result {
    /// How it ended.
    enum class Status { passed, failed, skipped };

    std::string variant;
    Backend backend = Backend::cpu;
    Device device;           ///< meaningless when skipped for want of a device (has_device is false)
    std::size_t devices = 1; ///< how many took part: `device` and those after it
    bool has_device = false;
    Status status = Status::skipped;
    std::string reason; ///< why failed or skipped
    std::string note;   ///< said below the row of a result that is much slower than others on its device
    Timing kernel;
    double total_ms = 0;    ///< host data to host data: allocate, copy in, one kernel, copy out; 0: not measured
    double prepared_ms = 0; ///< of the last pass, what serves any number of kernels: Stopwatch::prepare(); 0: none
    double error = 0;
    double tolerance = 0;
    Work work;          ///< filled in by Report::add
    double percent = 0; ///< of the roofline ceiling; filled in by Report::add unless the lab set a bound of its own
    double speedup = 0; ///< over the sequential CPU; filled in by Report::add
    Parameters extra;   ///< the lab's own figures: occupancy, overlap; in the table where Report::column() says so

    double gb_per_s() const;
    double gflop_per_s() const;
};

/// "passed", "failed" or "skipped".
std::string_view name_of(Result::Status status);

/// The sequential CPU variant to which speed-ups refer.
struct Sequential {
    std::string variant; ///< its name
    double ms = 0;       ///< its time; 0: not measured
};

/// What a report learns from the machine it runs on; a test can replace it.
struct Surroundings {
    Terminal terminal;
    /// Whether some back end has several devices, so that the rows of a study must name theirs.
    bool several_devices = false;
    /// The day, as the JSON file has it: "2026-11-22". Empty: the file has none.
    std::string date = {};
    std::function<Ceilings(const Device&, Arithmetic)> ceilings = gpulab::ceilings;
    /// What the driver says of a GPU now: asked before the first result and after each. Empty: it is not asked.
    std::function<GpuState(const Device&)> gpu_state = {};
};

/// Collects results, shows each in a table as it comes, and writes the files after each: a run that is interrupted
/// leaves all results so far.
///
///     Report report(options, {{"n", n}});
///     report.sequential({"cpu_sequential", time_of_the_reference});
///     report.add(result, {.bytes = 12.0 * n, .flops = 2.0 * n});
///     return report.finish();
///
/// A study calls begin() once per problem; its files then hold a list of runs.
///
/// Each device is named above its rows, with its ceilings; in a study, the parameters of the problem appear above the
/// rows that share them. No line is longer than the terminal is wide: what does not fit is left out of the table, and
/// the closing lines say so. The files have everything.
///
/// If --json or --csv names stdout, only the results go there; see Options::output().
class Report {
public:
    /// Opens the files of --json and --csv at once, so that an unwritable one is known before anything is measured.
    /// @param problem the parameters of the (first) problem; for a study, leave it out and call begin()
    /// @param surroundings those that a test has made up; otherwise the real ones
    /// @throws UsageError when a file cannot be written
    explicit Report(const Options& options, Parameters problem = {}, std::optional<Surroundings> surroundings = {});
    /// When an error ends the run before finish(), writes the files with the results so far, if there are any.
    ~Report();
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    /// Gives a column to a parameter of the problem, or to an extra of the results: its name, and a short heading. All
    /// other parameters appear above the table, all other extras in the files only. Where there is no room for all
    /// extras, the one named first stays longest. Takes effect from the next heading on.
    /// @param format for values that are not whole, as in fmt::format. The column is wide enough for 1/3 in this format
    void column(const std::string& name, const std::string& heading, const std::string& format = "{:.2f}");

    /// Prints a text of any length once, above the rows that follow, for what holds for all of them.
    void say(const std::string& text);

    /// Starts the next problem of a study.
    void begin(Parameters problem);

    /// The variant, with its time, that speed-ups of the current problem refer to. The files name it. When add() gets a
    /// result of this variant, its time takes the place of this one, so that its own speed-up is 1.00.
    void sequential(Sequential reference);

    /// Adds one result, shows its row, and works out its percentage of the ceiling and its speed-up. The work of the
    /// first row below a heading says whether there are columns for bytes and for operations. In a study, the files
    /// then hold this result, too; not those that can be written only once (a pipe, stdout).
    /// @return the result as completed
    /// @throws Error before the first begin() of a study
    const Result& add(Result result, const Work& work);

    /// Says on a terminal what is being done now, in a line that the next row overwrites. A report of one problem
    /// begins with the right answer on the CPU.
    void doing(std::string_view what);

    /// Shows no table: a study prints one of its own, from the book.
    /// While quiet, a terminal still shows the line of progress, and failed or skipped results are still reported.
    void quiet(bool quiet);

    /// Prints the stored results that --recorded asks for, those of the same problems only; the closing lines; and
    /// writes the files.
    /// @return exit_success, or exit_wrong_result when any result failed
    /// @throws UsageError when a study has neither a result nor anything to say: the choice left it no variant
    int finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace gpulab
