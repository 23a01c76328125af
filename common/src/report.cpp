#include "gpulab/report.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "backends.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/metrics.hpp"
#include "recorded.hpp"
#include "results_file.hpp"
#include "table.hpp"

namespace gpulab {

double Result::gb_per_s() const { return gpulab::gb_per_s(work.bytes, kernel.median); }
double Result::gflop_per_s() const { return gpulab::gflop_per_s(work.flops, kernel.median); }

std::string_view name_of(Result::Status status) {
    switch (status) {
    case Result::Status::passed: return "passed";
    case Result::Status::failed: return "failed";
    case Result::Status::skipped: return "skipped";
    }
    return "?";
}

namespace {

/// "cuda:0", or "cuda" where there is no device.
std::string place_of(const Result& r) { return r.has_device ? r.device.id() : std::string(name_of(r.backend)); }

std::string today() {
    const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
    return fmt::format("{}-{:02}-{:02}", int{day.year()}, unsigned{day.month()}, unsigned{day.day()});
}

Surroundings real_surroundings(const Options& options) {
    Surroundings real{.terminal = terminal_of_stdout(), .date = today(), .gpu_state = gpu_state};
    if (!options.study().empty()) // only the rows of a study name devices: else there is no need to look for any
        for (const Backend backend : {Backend::cpu, Backend::opencl, Backend::cuda})
            real.several_devices = real.several_devices || options.devices(backend).size() > 1;
    return real;
}

} // namespace

struct Report::State : Reported {
    OutputFile json, csv;
    Surroundings surroundings;
    std::map<std::string, GpuState> before; // the first result, by id
    int passed = 0, failed = 0, skipped = 0;
    double best_percent = 0;
    std::map<std::string, double> best_ms; // of each device

    // What has been shown.
    std::vector<NamedColumn> columns;
    std::optional<Table> table;
    std::string place;                         // a single run: the device above the rows
    std::set<std::string> introduced;          // a study: the devices named so far
    std::string group;                         // a study: the parameters above the rows
    std::map<std::string, std::string> stated; // why a back end has no device
    std::vector<std::string> notes;            // said, but not shown yet
    bool printed = false;                      // whether there was one
    std::vector<std::string> left_out;         // headings
    bool quiet = false;
    bool progress_shown = false;
    bool finished = false;
    const int errors = std::uncaught_exceptions(); // under way when the report begins

    State(const Options& o, std::optional<Surroundings> made_up)
        : Reported{o, ""}, json(output_file(o.json())), csv(output_file(o.csv())),
          surroundings(made_up ? *made_up : real_surroundings(options)) {
        date = surroundings.date;
        if (surroundings.gpu_state)
            for (const Device& gpu : options.devices(Backend::cuda))
                if (!gpu.emulated) before[gpu.id()] = surroundings.gpu_state(gpu);
    }

    bool is_study() const { return !options.study().empty(); }

    void note_device(const Device& device, const Ceilings& ceilings) {
        ReportedDevice& noted = devices[device.id()];
        noted.device = device;
        noted.ceilings = ceilings;
        if (device.backend != Backend::cuda || device.emulated || !surroundings.gpu_state) return;
        noted.after = surroundings.gpu_state(device);
        noted.before = before.try_emplace(device.id(), *noted.after).first->second;
        noted.others = std::max(noted.others, noted.after->processes - 1);
    }

    /// What else has lengthened times on GPUs.
    void print_disturbances() const {
        for (const auto& [id, device] : devices) {
            const auto [by_power, by_heat] = slowed(device);
            for (const auto& [ms, why] :
                 {std::pair(by_power, "its power limit"), std::pair(by_heat, "its temperature")})
                if (ms >= 1)
                    print_wrapped(fmt::format("{}: {} has kept its clocks low for {:.0f} ms.", id, why, ms), 0, 0);
            if (device.others > 0)
                print_wrapped(fmt::format("{}: {} other process{} computed on it, so times may be too long.", id,
                                          device.others, device.others == 1 ? "" : "es"),
                              0, 0);
        }
    }

    /// Prints text, broken into lines that fit; the second and later ones are indented.
    void print_wrapped(const std::string& text, std::size_t first_indent = 0, std::size_t indent = 4) const {
        fmt::print("{}", wrapped(text, surroundings.terminal.columns, first_indent, indent));
    }

    /// Those of the result's device; none of a device on which nothing runs.
    Ceilings ceilings(const Result& r, Arithmetic arithmetic) const {
        try {
            return surroundings.ceilings(r.device, arithmetic);
        } catch (const std::bad_alloc&) {
            return {}; // they take more memory than a small problem
        } catch (const std::exception&) {
            if (r.status != Result::Status::skipped) throw;
            return {};
        }
    }

    /// Keeps the note of a result that is much slower than others on its device.
    void note_slow(Result& r) {
        double& best = best_ms[r.device.id()];
        if (is_study() || best == 0 || r.kernel.median < 4 * best) r.note.clear();
        if (r.kernel.median > 0 && (best == 0 || r.kernel.median < best)) best = r.kernel.median;
    }

    void write_files() {
        if (json) json.write(json_text(*this));
        if (csv) csv.write(csv_text(*this));
    }

    /// The files as they would be if the run ended now. If a disk is full, finish() says so.
    void write_so_far() noexcept {
        try {
            if (json.repeatable()) json.write(json_text(*this));
            if (csv.repeatable()) csv.write(csv_text(*this));
        } catch (...) {
        }
    }

    void show_progress(const std::string& what) {
        if (!surroundings.terminal.progress) return;
        fmt::print(stderr, "\r{:<78.78}", what + " ...");
        progress_shown = true;
    }

    void clear_progress() {
        if (progress_shown) fmt::print(stderr, "\r{:78}\r", "");
        progress_shown = false;
    }

    void print(const Result& r) {
        clear_progress();
        if (!quiet) {
            print_heading(r);
            print_notes();
            fmt::print("{}", table->row(runs.back().problem, r, r.has_device ? "" : stated[place_of(r)]));
        } else if (r.status == Result::Status::passed) {
            show_progress(r.variant);
        } else {
            const char* const how = r.status == Result::Status::failed ? "WRONG" : "skipped";
            print_wrapped(fmt::format("{} on {}: {}: {}", r.variant, place_of(r), how, r.reason));
        }
        detail::flush_so_far();
    }

    void print_notes() {
        for (const std::string& note : notes) print_wrapped(note, 2, 4);
        notes.clear();
    }

    void print_device(const Result& r) {
        if (!r.has_device) stated[place_of(r)] = r.reason;
        const ReportedDevice device = r.has_device ? devices.at(r.device.id()) : ReportedDevice{};
        print_device(r, device.ceilings, device.after ? device.after->pci : "");
    }

    /// @param pci its place on the bus, as ./lab doctor has it
    void print_device(const Result& r, const Ceilings& c, const std::string& pci = "") const {
        std::string text = place_of(r) + "  ";
        if (r.has_device) {
            text += r.device.name;
            if (!r.device.platform.empty()) text += " (" + r.device.platform + ")";
            if (!pci.empty()) text += " at " + pci;
            if (c.copy_gb_s > 0) text += fmt::format(": copies {:.1f} GB/s", c.copy_gb_s);
            if (c.fp32_gflop_s > 0) text += fmt::format(", {:.1f} GFLOP/s float", c.fp32_gflop_s);
            if (c.fp64_gflop_s > 0) text += fmt::format(", {:.1f} GFLOP/s double", c.fp64_gflop_s);
        } else {
            text += r.reason;
        }
        print_wrapped(text);
    }

    /// Those that have no column: "n = 1000, type = float".
    std::string without_column(const Parameters& parameters) const {
        std::string text;
        for (const Parameter& p : parameters)
            if (std::none_of(columns.begin(), columns.end(), [&](const NamedColumn& c) { return c.name == p.name; }))
                text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", p.name, shown(p));
        return text;
    }

    /// What stands above a row when it is the first of its device, or of its group of problems.
    void print_heading(const Result& r) {
        const std::string now = without_column(runs.back().problem);
        const bool new_group = is_study() && (!table || now != group);
        const bool new_place = is_study() ? introduced.insert(place_of(r)).second : place_of(r) != place;
        if (!new_group && !new_place) return;
        place = place_of(r);
        group = now;
        table.emplace(runs.back().problem, r.work, columns, is_study() && surroundings.several_devices,
                      surroundings.terminal);
        for (const std::string& heading : table->left_out())
            if (std::find(left_out.begin(), left_out.end(), heading) == left_out.end()) left_out.push_back(heading);

        fmt::print("\n");
        if (new_group && !now.empty()) print_wrapped(now);
        if (new_place) print_device(r);
        print_notes();
        if (r.has_device || new_group) fmt::print("{}", table->heading());
    }

    // Stored results: never of another problem than this run's.

    void print_recorded() {
        for (const std::string& name : options.recorded()) {
            const std::deque<RecordedRun> stored = recorded_runs(name, options.lab());
            std::set<std::string> above;
            bool lacking = runs.empty();
            for (const ReportedRun& own : runs) {
                bool found = false;
                for (const RecordedRun& run : stored)
                    if (run.study == options.study() && same_problem(run.problem, own.problem)) {
                        print_recorded(name, run, above);
                        found = true;
                    }
                if (!found) lacking = true;
            }
            if (lacking || !is_study()) print_others(name, stored, lacking);
        }
    }

    /// @param above what stands above the last row; a device is named once for each file
    void print_recorded(const std::string& name, const RecordedRun& run, std::set<std::string>& above) const {
        std::vector<Result> shown;
        for (const auto& [result, ceilings] : run.results) {
            const std::string variant =
                result.variant.substr(0, result.variant.find(':')); // of a study: "cuda_tuned:dot"
            if (!result.has_device || !options.wants(variant, result.backend)) continue;
            const Table rows(run.problem, result.work, columns, is_study(), surroundings.terminal);
            const std::string problem = is_study() ? without_column(run.problem) : "";
            const std::string file = name + "/" + run.file, where = is_study() ? "" : result.device.id();
            const bool new_group = above.insert(file + ", " + where + problem).second;
            if (new_group) {
                print_shared(shown);
                shown.clear();
                fmt::print("\n");
                print_wrapped(fmt::format("recorded on {}{}, {}{}", name, run.date.empty() ? "" : ", " + run.date,
                                          run.file, problem.empty() ? "" : ": " + problem));
                for (const auto& [other, of_it] : run.results)
                    if (other.has_device && (is_study() || other.device.id() == where) &&
                        above.insert(file + " " + other.device.id()).second)
                        print_device(other, of_it);
                fmt::print("{}", rows.heading());
            }
            fmt::print("{}", rows.row(run.problem, result, ""));
            shown.push_back(result);
        }
        print_shared(shown);
    }

    /// The lab's own figures that have no column, where they are the same in several rows.
    void print_shared(const std::vector<Result>& shown) const {
        if (is_study() || shown.size() < 2) return;
        Parameters shared;
        for (const Parameter& p : shown.front().extra)
            if (std::all_of(shown.begin(), shown.end(), [&](const Result& r) {
                    return std::any_of(r.extra.begin(), r.extra.end(),
                                       [&](const Parameter& q) { return q.name == p.name && q.value == p.value; });
                }))
                shared.push_back(p);
        if (const std::string text = without_column(shared); !text.empty()) print_wrapped("  in all rows: " + text);
    }

    /// What else is stored, in one line. @param lacking whether a problem of this run has no stored results
    void print_others(const std::string& name, const std::deque<RecordedRun>& stored, bool lacking) const {
        std::vector<std::string> problems, others;
        for (const RecordedRun& run : stored) {
            const Parameters own = runs.empty() ? Parameters() : runs.back().problem;
            std::string text; // the parameters in which they differ
            for (const Parameter& p : run.problem)
                if (std::none_of(own.begin(), own.end(), [&](const Parameter& q) { return same_problem({p}, {q}); }))
                    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", p.name, gpulab::shown(p));
            if (run.study != options.study()) text = run.study.empty() ? "single runs" : "--study " + run.study;
            auto& list = run.study == options.study() ? problems : others;
            if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
        }
        if (!lacking && problems.empty()) return;
        std::string line = fmt::format("recorded on {}: ", name);
        if (lacking) line += is_study() ? "nothing for some of these problems; " : "nothing for this problem; ";
        if (!problems.empty()) line += fmt::format("{} {}", lacking ? "there are" : "also", fmt::join(problems, "; "));
        else if (!others.empty()) line += fmt::format("there are {}", fmt::join(others, ", "));
        else line += fmt::format("nothing of {}", options.lab());
        fmt::print("\n{}\n", line);
    }
};

Report::Report(const Options& options, Parameters problem, std::optional<Surroundings> surroundings)
    : state_(std::make_unique<State>(options, std::move(surroundings))) {
    if (state_->is_study()) {
        fmt::print("{}, study {}\n", options.lab(), options.study());
    } else {
        begin(std::move(problem));
        state_->print_wrapped(options.lab() + ": " + state_->without_column(state_->runs.back().problem));
    }
    detail::flush_so_far();
    if (!state_->is_study()) doing("the right answer, on the CPU");
}

Report::~Report() {
    state_->clear_progress(); // an error message may follow
    const bool error = std::uncaught_exceptions() > state_->errors;
    if (error && !state_->finished && state_->passed + state_->failed > 0) {
        try {
            state_->write_files();
        } catch (...) { // the error that ends the run is the one to tell
        }
    }
}

void Report::column(const std::string& name, const std::string& heading, const std::string& format) {
    auto& columns = state_->columns;
    const auto same = [&](const NamedColumn& column) { return column.name == name; };
    if (std::none_of(columns.begin(), columns.end(), same)) columns.push_back({name, heading, format});
}

void Report::say(const std::string& text) {
    state_->printed = true;
    if (!state_->quiet) state_->notes.push_back(text);
}

void Report::begin(Parameters problem) { state_->runs.emplace_back().problem = std::move(problem); }

void Report::sequential(Sequential reference) { state_->runs.back().sequential = std::move(reference); }

void Report::quiet(bool quiet) { state_->quiet = quiet; }

void Report::doing(std::string_view what) {
    detail::opencl_rests(); // until a variant uses it
    detail::now_doing = what;
    state_->show_progress(detail::now_doing);
}

const Result& Report::add(Result result, const Work& work) {
    State& s = *state_;
    if (s.runs.empty()) throw Error("Report::add before Report::begin");
    ReportedRun& run = s.runs.back();
    result.work = work;
    if (result.has_device) {
        const Ceilings c = s.ceilings(result, work.arithmetic);
        s.note_device(result.device, c);
        if (result.status != Result::Status::skipped && result.kernel.median > 0 && result.percent == 0)
            result.percent = 100 * roofline_ms(c, work.bytes, work.flops, work.arithmetic) /
                             (static_cast<double>(result.devices) * result.kernel.median); // of all of them together
    }
    if (result.variant == run.sequential.variant && result.kernel.median > 0) run.sequential.ms = result.kernel.median;
    if (result.status != Result::Status::skipped)
        result.speedup = gpulab::speedup(run.sequential.ms, result.kernel.median);
    s.best_percent = std::max(s.best_percent, result.percent);
    switch (result.status) {
    case Result::Status::passed: ++s.passed; break;
    case Result::Status::failed: ++s.failed; break;
    case Result::Status::skipped: ++s.skipped; break;
    }
    s.note_slow(result);
    run.results.push_back(std::move(result));
    s.print(run.results.back());
    if (s.is_study() || s.passed + s.failed > 0) s.write_so_far();
    return run.results.back();
}

int Report::finish() {
    State& s = *state_;
    detail::opencl_rests();
    s.clear_progress();
    if (s.is_study() && !s.printed && s.passed + s.failed + s.skipped == 0 && s.options.recorded().empty())
        throw UsageError(fmt::format("--study {}: it has none of the chosen variants", s.options.study()));
    s.print_notes();
    s.print_recorded();
    fmt::print("\n{} right, {} wrong, {} skipped\n", s.passed, s.failed, s.skipped);
    if (!s.left_out.empty())
        s.print_wrapped(fmt::format("Not in the table: {}. The files of --json and --csv have all columns.",
                                    fmt::join(s.left_out, ", ")),
                        0, 0);
    if (s.best_percent > 105 && !s.quiet)
        s.print_wrapped(
            "Over 100 % of the bound: the data partly stays in a cache, or something slowed the copy that the "
            "bound is taken from.",
            0, 0);
    if (!s.quiet) s.print_disturbances();
    s.finished = true;
    s.write_files();
    flush_stdout();
    if (s.failed > 0) return exit_wrong_result;
    return detail::aborted_in_a_rung() ? exit_failure : exit_success;
}

} // namespace gpulab
