#include "gpulab/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/metrics.hpp"

#if defined(_WIN32)
#include <io.h>
#define isatty _isatty
#define fileno _fileno
#else
#include <unistd.h>
#endif

namespace gpulab {

using Json = nlohmann::ordered_json;

namespace {

Json to_json(const Parameters& parameters) {
    Json object = Json::object();
    for (const Parameter& p : parameters) std::visit([&](const auto& value) { object[p.name] = value; }, p.value);
    return object;
}

std::string to_text(const Parameter& p) {
    if (const auto* text = std::get_if<std::string>(&p.value)) return *text;
    if (const auto* whole = std::get_if<std::int64_t>(&p.value)) return fmt::format("{}", *whole);
    return fmt::format("{:.6g}", std::get<double>(p.value));
}

Json or_null(double value, bool known = true) { return known && std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string in_quotes(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string arithmetic_text(const Ceilings& c) {
    std::string text;
    if (c.fp32_gflop_s > 0) text += fmt::format(", {:.1f} GFLOP/s float", c.fp32_gflop_s);
    if (c.fp64_gflop_s > 0) text += fmt::format(", {:.1f} GFLOP/s double", c.fp64_gflop_s);
    return text;
}

} // namespace

void Result::judge(const Comparison& comparison) {
    error = comparison.error;
    tolerance = comparison.tolerance;
    status = comparison.passed ? Status::passed : Status::failed;
    reason = comparison.message;
}

double Result::gb_per_s() const { return gpulab::gb_per_s(work.bytes, kernel.median); }
double Result::gflop_per_s() const { return gpulab::gflop_per_s(work.flops, kernel.median); }

std::string_view name_of(Result::Status status) {
    switch (status) {
    case Result::Status::passed: return "passed";
    case Result::Status::failed: return "failed";
    case Result::Status::skipped: return "skipped";
    case Result::Status::unjudged: return "unjudged";
    }
    return "?";
}

struct Report::State {
    struct Run {
        Parameters problem;
        double sequential_ms = 0;
        std::deque<Result> results; // a deque: add() hands out references
    };

    const Options& options;
    OutputFile json;
    OutputFile csv;
    std::deque<Run> runs;
    std::map<std::string, std::pair<Device, Ceilings>> devices; // by id
    std::string heading;                                        // what the heading printed last was for
    std::set<std::string> introduced;                           // devices a study has named
    bool quiet = false;
    bool progress_shown = false;
    int passed = 0, failed = 0, skipped = 0;
    double best_percent = 0;

    explicit State(const Options& o) : options(o) {
        if (!o.json().empty()) json = OutputFile(o.json());
        if (!o.csv().empty()) csv = OutputFile(o.csv());
    }

    void clear_progress() {
        if (progress_shown) fmt::print(stderr, "\r{:78}\r", "");
        progress_shown = false;
    }

    void print(const Result& r) {
        if (quiet) {
            if (isatty(fileno(stderr))) {
                fmt::print(stderr, "\r{:<78.78}", fmt::format("{} ...", r.variant));
                progress_shown = true;
            }
            if (r.status == Result::Status::failed) {
                clear_progress();
                fmt::print("{} on {} FAILED: {}\n", r.variant, r.device.id(), r.reason);
            }
            return;
        }
        print_heading(r);
        const bool study = !options.study().empty();
        const std::string problem = study ? fmt::format("{:<36} ", short_text(runs.back().problem)) : "  ";
        const std::string where = study ? fmt::format("{:<9} ", r.has_device ? r.device.id() : "-") : "";
        if (r.status == Result::Status::skipped) {
            fmt::print("{}{:<28} {}skipped{}\n", problem, r.variant, where,
                       r.has_device || study ? ": " + r.reason : "");
        } else {
            const std::string verdict =
                r.status == Result::Status::passed ? fmt::format("right, error {:.1e}", r.error) : "WRONG: " + r.reason;
            fmt::print("{}{:<28} {}{:>11.4f} {:>11.4f} {:>9.2f} {:>10.2f} {:>8.1f} {:>8.2f}  {}", problem, r.variant,
                       where, r.kernel.median, r.total_ms, r.gb_per_s(), r.gflop_per_s(), r.percent, r.speedup,
                       verdict);
            for (const Parameter& p : r.extra) fmt::print("  {} {}", p.name, to_text(p));
            fmt::print("\n");
        }
        std::fflush(stdout);
    }

    static std::string short_text(const Parameters& problem) {
        std::string text;
        for (const Parameter& p : problem) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", p.name, to_text(p));
        return text;
    }

    void print_device(const Result& r) const {
        if (!r.has_device) {
            fmt::print("{}  {}\n", name_of(r.backend), r.reason);
            return;
        }
        const auto known = devices.find(r.device.id());
        const std::string platform = r.device.platform.empty() ? "" : " (" + r.device.platform + ")";
        fmt::print("{}  {}{}", r.device.id(), r.device.name, platform);
        if (known != devices.end() && known->second.second.copy_gb_s > 0)
            fmt::print(": copies {:.1f} GB/s{}", known->second.second.copy_gb_s, arithmetic_text(known->second.second));
        fmt::print("\n");
    }

    /// A single run has a heading for each device in turn; a study has one table, and names a device when it first
    /// appears.
    void print_heading(const Result& r) {
        constexpr auto columns = "{:>11} {:>11} {:>9} {:>10} {:>8} {:>8}  {}\n";
        const std::string id = r.has_device ? r.device.id() : std::string(name_of(r.backend));
        if (options.study().empty()) {
            if (id == heading) return;
            heading = id;
            fmt::print("\n");
            print_device(r);
            if (r.has_device)
                fmt::print("  {:<28} {}", "variant",
                           fmt::format(fmt::runtime(columns), "kernel ms", "total ms", "GB/s", "GFLOP/s", "% bound",
                                       "speed-up", "result"));
            return;
        }
        if (introduced.insert(id).second) print_device(r);
        if (heading.empty()) {
            heading = "study";
            fmt::print("{:<36} {:<28} {:<9} {}", "problem", "variant", "device",
                       fmt::format(fmt::runtime(columns), "kernel ms", "total ms", "GB/s", "GFLOP/s", "% bound",
                                   "speed-up", "result"));
        }
    }

    Json run_json(const Run& run) const {
        Json object;
        object["lab"] = options.lab();
        if (!options.study().empty()) object["study"] = options.study();
        object["problem"] = to_json(run.problem);
        object["problem"]["seed"] = options.seed();
        object["sequential_ms"] = or_null(run.sequential_ms, run.sequential_ms > 0);
        object["devices"] = Json::array();
        for (const auto& [id, known] : devices) {
            const auto& [device, c] = known;
            object["devices"].push_back({{"id", id},
                                         {"name", device.name},
                                         {"backend", name_of(device.backend)},
                                         {"platform", device.platform},
                                         {"memory_bytes", device.memory_bytes},
                                         {"compute_units", device.compute_units},
                                         {"ceilings",
                                          {{"copy_gb_per_s", or_null(c.copy_gb_s, c.copy_gb_s > 0)},
                                           {"fp32_gflop_per_s", or_null(c.fp32_gflop_s, c.fp32_gflop_s > 0)},
                                           {"fp64_gflop_per_s", or_null(c.fp64_gflop_s, c.fp64_gflop_s > 0)}}}});
        }
        object["variants"] = Json::array();
        for (const Result& r : run.results) {
            const bool timed = r.status != Result::Status::skipped && r.kernel.repeats > 0;
            const bool judged = r.status != Result::Status::skipped;
            Json v;
            v["name"] = r.variant;
            v["backend"] = name_of(r.backend);
            v["device"] = r.has_device ? Json(r.device.id()) : Json(nullptr);
            v["status"] = name_of(r.status);
            v["reason"] = r.reason.empty() ? Json(nullptr) : Json(r.reason);
            v["kernel_ms"] =
                timed ? Json{{"median", r.kernel.median}, {"min", r.kernel.min}, {"max", r.kernel.max}} : Json(nullptr);
            v["repeats"] = r.kernel.repeats;
            v["total_ms"] = or_null(r.total_ms, r.total_ms > 0);
            v["bytes"] = or_null(r.work.bytes, timed);
            v["flops"] = or_null(r.work.flops, timed);
            v["gb_per_s"] = or_null(r.gb_per_s(), timed);
            v["gflop_per_s"] = or_null(r.gflop_per_s(), timed);
            v["percent_of_ceiling"] = or_null(r.percent, timed && r.percent > 0);
            v["speedup"] = or_null(r.speedup, timed && r.speedup > 0);
            v["error"] = or_null(r.error, judged);
            v["tolerance"] = or_null(r.tolerance, judged);
            for (const Parameter& p : r.extra) std::visit([&](const auto& value) { v[p.name] = value; }, p.value);
            object["variants"].push_back(std::move(v));
        }
        return object;
    }

    std::string json_text() const {
        if (options.study().empty())
            return run_json(runs.front()).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
        Json list = Json::array();
        for (const Run& run : runs) list.push_back(run_json(run));
        return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    }

    std::string csv_text() const {
        // The columns are those of all runs: parameters first, then the fixed ones, then the labs' own.
        std::vector<std::string> parameters, extras;
        const auto note = [](std::vector<std::string>& names, const Parameters& from) {
            for (const Parameter& p : from)
                if (std::find(names.begin(), names.end(), p.name) == names.end()) names.push_back(p.name);
        };
        for (const Run& run : runs) {
            note(parameters, run.problem);
            for (const Result& r : run.results) note(extras, r.extra);
        }
        const auto value_in = [](const Parameters& from, const std::string& name) -> std::string {
            for (const Parameter& p : from)
                if (p.name == name) return in_quotes(to_text(p));
            return "";
        };
        std::string text;
        for (const auto& name : parameters) text += in_quotes(name) + ",";
        text += "variant,backend,device,status,reason,kernel_ms_median,kernel_ms_min,kernel_ms_max,total_ms,"
                "gb_per_s,gflop_per_s,percent_of_ceiling,speedup,error,tolerance";
        for (const auto& name : extras) text += "," + in_quotes(name);
        text += "\n";
        const auto cell = [](double value, bool known) {
            return known && std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string();
        };
        for (const Run& run : runs)
            for (const Result& r : run.results) {
                const bool judged = r.status != Result::Status::skipped;
                const bool timed = judged && r.kernel.repeats > 0;
                for (const auto& name : parameters) text += value_in(run.problem, name) + ",";
                text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", r.variant, name_of(r.backend),
                                    r.has_device ? r.device.id() : "", name_of(r.status), in_quotes(r.reason),
                                    cell(r.kernel.median, timed), cell(r.kernel.min, timed), cell(r.kernel.max, timed),
                                    cell(r.total_ms, r.total_ms > 0), cell(r.gb_per_s(), timed),
                                    cell(r.gflop_per_s(), timed), cell(r.percent, timed && r.percent > 0),
                                    cell(r.speedup, timed && r.speedup > 0), cell(r.error, judged),
                                    cell(r.tolerance, judged));
                for (const auto& name : extras) text += "," + value_in(r.extra, name);
                text += "\n";
            }
        return text;
    }
};

Report::Report(const Options& options, Parameters problem) : state_(std::make_unique<State>(options)) {
    if (options.study().empty()) {
        std::string heading = options.lab() + ":";
        for (const Parameter& p : problem) heading += fmt::format(" {} = {}", p.name, to_text(p));
        fmt::print("{}\n", heading);
        std::fflush(stdout);
    }
    if (options.study().empty()) begin(std::move(problem));
}

Report::~Report() = default;

void Report::begin(Parameters problem) {
    State& s = *state_;
    s.runs.emplace_back().problem = std::move(problem);
}

void Report::sequential_ms(double ms) { state_->runs.back().sequential_ms = ms; }

void Report::quiet(bool quiet) { state_->quiet = quiet; }

const Result& Report::add(Result result, const Work& work) {
    State& s = *state_;
    if (s.runs.empty()) throw Error("Report::add before Report::begin");
    if (result.status == Result::Status::unjudged) throw Error(result.variant + ": its output was never compared");
    State::Run& run = s.runs.back();
    result.work = work;
    if (result.has_device) {
        const Ceilings& c = ceilings(result.device, work.arithmetic);
        s.devices[result.device.id()] = {result.device, c};
        if (result.status != Result::Status::skipped && result.kernel.median > 0 && result.percent == 0)
            result.percent = 100 * roofline_ms(c, work.bytes, work.flops, work.arithmetic) / result.kernel.median;
    }
    if (result.status != Result::Status::skipped)
        result.speedup = gpulab::speedup(run.sequential_ms, result.kernel.median);
    s.best_percent = std::max(s.best_percent, result.percent);
    switch (result.status) {
    case Result::Status::passed: ++s.passed; break;
    case Result::Status::failed: ++s.failed; break;
    case Result::Status::skipped: ++s.skipped; break;
    case Result::Status::unjudged: break; // refused above
    }
    run.results.push_back(std::move(result));
    s.print(run.results.back());
    return run.results.back();
}

int Report::finish() {
    State& s = *state_;
    s.clear_progress();
    fmt::print("\n{} right, {} wrong, {} skipped\n", s.passed, s.failed, s.skipped);
    if (s.best_percent > 105 && !s.quiet)
        fmt::print("Over 100 % of the bound: the data partly stays in a cache, or something slowed the copy that the "
                   "bound is taken from.\n");
    if (s.json) s.json.prepare(s.json_text()); // both, before either takes its place
    if (s.csv) s.csv.prepare(s.csv_text());
    if (s.json) s.json.commit();
    if (s.csv) s.csv.commit();
    flush_stdout();
    return s.failed > 0 ? exit_wrong_result : exit_success;
}

} // namespace gpulab
