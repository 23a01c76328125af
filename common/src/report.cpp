#include "gpulab/report.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <optional>
#include <set>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/metrics.hpp"
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

Surroundings real_surroundings(const Options& options) {
    Surroundings real{.terminal = terminal_of_stdout()};
    if (options.study().empty()) return real; // only the rows of a study name devices: no need to look for any
    for (const Backend backend : {Backend::cpu, Backend::opencl, Backend::cuda})
        if (options.devices(backend).size() > 1) real.several_devices = true;
    return real;
}

OutputFile file_for(const std::string& path) { return path.empty() ? OutputFile() : OutputFile(path); }

} // namespace

struct Report::State {
    const Options& options;
    OutputFile json, csv;
    Surroundings surroundings;
    std::deque<ReportedRun> runs;
    ReportedDevices devices;
    int passed = 0, failed = 0, skipped = 0;
    double best_percent = 0;

    // What has been shown.
    std::vector<NamedColumn> columns;
    std::optional<Table> table;
    std::string place;                         // a single run: the device above the rows
    std::set<std::string> introduced;          // a study: the devices named so far
    std::string group;                         // a study: the parameters above the rows
    std::map<std::string, std::string> stated; // why a back end has no device
    std::vector<std::string> notes;            // said, but not shown yet
    bool said = false;                         // whether there was one
    std::vector<std::string> left_out;         // headings
    bool quiet = false;
    bool progress_shown = false;

    State(const Options& o, std::optional<Surroundings> made_up)
        : options(o), json(file_for(o.json())), csv(file_for(o.csv())),
          surroundings(made_up ? *made_up : real_surroundings(options)) {}

    bool is_study() const { return !options.study().empty(); }

    /// Prints text, broken into lines that fit; the second and later ones are indented.
    void print_wrapped(const std::string& text, std::size_t first_indent = 0, std::size_t indent = 4) const {
        fmt::print("{}", wrapped(text, surroundings.terminal.columns, first_indent, indent));
    }

    void write_files() {
        if (json) json.prepare(json_text(options, runs, devices)); // both, before either takes its place
        if (csv) csv.prepare(csv_text(options, runs, devices));
        json.commit();
        csv.commit();
    }

    /// The files as they would be if the study ended now. If a disk is full, finish() says so.
    void write_so_far() noexcept {
        try {
            if (json.repeatable()) json.write(json_text(options, runs, devices));
            if (csv.repeatable()) csv.write(csv_text(options, runs, devices));
        } catch (...) {
        }
    }

    void clear_progress() {
        if (progress_shown) fmt::print(stderr, "\r{:78}\r", "");
        progress_shown = false;
    }

    void print(const Result& r) {
        if (quiet) {
            print_quietly(r);
        } else {
            print_heading(r);
            print_notes();
            fmt::print("{}", table->row(runs.back().problem, r, r.has_device ? "" : stated[place_of(r)]));
        }
        std::fflush(stdout);
    }

    void print_quietly(const Result& r) {
        if (surroundings.terminal.progress) {
            fmt::print(stderr, "\r{:<78.78}", r.variant + " ...");
            progress_shown = true;
        }
        if (r.status == Result::Status::passed) return;
        clear_progress();
        const bool failed_ = r.status == Result::Status::failed;
        print_wrapped(fmt::format("{} on {}: {}: {}", r.variant, place_of(r), failed_ ? "WRONG" : "skipped", r.reason));
    }

    void print_notes() {
        for (const std::string& note : notes) print_wrapped(note, 2, 4);
        notes.clear();
    }

    void print_device(const Result& r) {
        std::string text = place_of(r) + "  ";
        if (r.has_device) {
            text += r.device.name;
            if (!r.device.platform.empty()) text += " (" + r.device.platform + ")";
            const Ceilings& c = devices.at(r.device.id()).second;
            if (c.copy_gb_s > 0) text += fmt::format(": copies {:.1f} GB/s", c.copy_gb_s);
            if (c.fp32_gflop_s > 0) text += fmt::format(", {:.1f} GFLOP/s float", c.fp32_gflop_s);
            if (c.fp64_gflop_s > 0) text += fmt::format(", {:.1f} GFLOP/s double", c.fp64_gflop_s);
        } else {
            text += r.reason;
            stated[place_of(r)] = r.reason;
        }
        print_wrapped(text);
    }

    /// The parameters of the current problem that have no column: "n = 1000, type = float".
    std::string group_text() const {
        std::string text;
        for (const Parameter& p : runs.back().problem)
            if (std::none_of(columns.begin(), columns.end(), [&](const NamedColumn& c) { return c.name == p.name; }))
                text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", p.name, shown(p));
        return text;
    }

    /// What stands above a row when it is the first of its device, or of its group of problems.
    void print_heading(const Result& r) {
        const std::string now = group_text();
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
};

Report::Report(const Options& options, Parameters problem, std::optional<Surroundings> surroundings)
    : state_(std::make_unique<State>(options, std::move(surroundings))) {
    if (state_->is_study()) {
        fmt::print("{}, study {}\n", options.lab(), options.study());
    } else {
        begin(std::move(problem));
        state_->print_wrapped(options.lab() + ": " + state_->group_text());
    }
    std::fflush(stdout);
}

Report::~Report() = default;

void Report::column(const std::string& name, const std::string& heading, const std::string& format) {
    auto& columns = state_->columns;
    const auto same = [&](const NamedColumn& column) { return column.name == name; };
    if (std::none_of(columns.begin(), columns.end(), same)) columns.push_back({name, heading, format});
}

void Report::say(const std::string& text) {
    state_->said = true;
    if (!state_->quiet) state_->notes.push_back(text);
}

void Report::begin(Parameters problem) { state_->runs.emplace_back().problem = std::move(problem); }

void Report::sequential_ms(double ms) { state_->runs.back().sequential_ms = ms; }

void Report::quiet(bool quiet) { state_->quiet = quiet; }

const Result& Report::add(Result result, const Work& work) {
    State& s = *state_;
    if (s.runs.empty()) throw Error("Report::add before Report::begin");
    ReportedRun& run = s.runs.back();
    result.work = work;
    if (result.has_device) {
        const Ceilings c = s.surroundings.ceilings(result.device, work.arithmetic);
        s.devices[result.device.id()] = {result.device, c};
        if (result.status != Result::Status::skipped && result.kernel.median > 0 && result.percent == 0)
            result.percent = 100 * roofline_ms(c, work.bytes, work.flops, work.arithmetic) /
                             (static_cast<double>(result.devices) * result.kernel.median); // of all of them together
    }
    if (result.status != Result::Status::skipped)
        result.speedup = gpulab::speedup(run.sequential_ms, result.kernel.median);
    s.best_percent = std::max(s.best_percent, result.percent);
    switch (result.status) {
    case Result::Status::passed: ++s.passed; break;
    case Result::Status::failed: ++s.failed; break;
    case Result::Status::skipped: ++s.skipped; break;
    }
    run.results.push_back(std::move(result));
    s.print(run.results.back());
    if (s.is_study()) s.write_so_far();
    return run.results.back();
}

void Report::keep_results() noexcept {
    try {
        if (state_->passed + state_->failed > 0) state_->write_files();
    } catch (...) { // the error that ends the run is the one to tell
    }
}

int Report::finish() {
    State& s = *state_;
    s.clear_progress();
    if (s.is_study() && !s.said && s.passed + s.failed + s.skipped == 0)
        throw UsageError(fmt::format("--study {}: it has none of the chosen variants", s.options.study()));
    s.print_notes();
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
    s.write_files();
    flush_stdout();
    return s.failed > 0 ? exit_wrong_result : exit_success;
}

} // namespace gpulab
