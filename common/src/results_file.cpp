#include "results_file.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gpulab {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(double value, bool known = true) { return known && std::isfinite(value) ? Json(value) : Json(nullptr); }

void set(Json& object, const Parameter& p) {
    std::visit([&](const auto& value) { object[p.name] = value; }, p.value);
}

bool is_judged(const Result& r) { return r.status != Result::Status::skipped; }
bool is_timed(const Result& r) { return is_judged(r) && r.kernel.repeats > 0; }

Json json_of(const Device& device, const Ceilings& c) {
    return {{"id", device.id()},
            {"name", device.name},
            {"backend", name_of(device.backend)},
            {"platform", device.platform},
            {"memory_bytes", device.memory_bytes},
            {"compute_units", device.compute_units},
            {"ceilings",
             {{"copy_gb_per_s", or_null(c.copy_gb_s, c.copy_gb_s > 0)},
              {"fp32_gflop_per_s", or_null(c.fp32_gflop_s, c.fp32_gflop_s > 0)},
              {"fp64_gflop_per_s", or_null(c.fp64_gflop_s, c.fp64_gflop_s > 0)}}}};
}

Json json_of(const Result& r) {
    const bool timed = is_timed(r), judged = is_judged(r);
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
    for (const Parameter& p : r.extra) set(v, p);
    return v;
}

std::string compact(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// A run as an object with one variant on each line, so that results can be read and compared line by line.
std::string json_of(const Options& options, const ReportedRun& run, const ReportedDevices& devices) {
    Json object;
    object["lab"] = options.lab();
    if (!options.study().empty()) object["study"] = options.study();
    object["problem"] = Json::object();
    for (const Parameter& p : run.problem) set(object["problem"], p);
    object["problem"]["seed"] = options.seed();
    object["sequential_ms"] = or_null(run.sequential_ms, run.sequential_ms > 0);
    object["devices"] = Json::array();
    for (const auto& [id, known] : devices) object["devices"].push_back(json_of(known.first, known.second));
    std::string text = compact(object);
    text.pop_back(); // the brace: the variants follow
    text += ",\"variants\":[";
    bool first = true;
    for (const Result& r : run.results) {
        text += (first ? "\n  " : ",\n  ") + compact(json_of(r));
        first = false;
    }
    return text + "\n]}";
}

/// A cell of a CSV file.
std::string in_quotes(const std::string& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

std::string cell(double value, bool known) {
    return known && std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string();
}

/// The cell of the parameter with this name; empty when there is none.
std::string cell(const Parameters& parameters, const std::string& name) {
    for (const Parameter& p : parameters) {
        if (p.name != name) continue;
        if (const auto* text = std::get_if<std::string>(&p.value)) return in_quotes(*text);
        if (const auto* whole = std::get_if<std::int64_t>(&p.value)) return fmt::format("{}", *whole);
        return fmt::format("{:.6g}", std::get<double>(p.value));
    }
    return "";
}

/// Adds the names that are not in the list yet.
void note(std::vector<std::string>& names, const Parameters& parameters) {
    for (const Parameter& p : parameters)
        if (std::find(names.begin(), names.end(), p.name) == names.end()) names.push_back(p.name);
}

} // namespace

std::string json_text(const Options& options, const std::deque<ReportedRun>& runs, const ReportedDevices& devices) {
    if (options.study().empty()) return json_of(options, runs.front(), devices) + "\n";
    std::string text = "[";
    for (const ReportedRun& run : runs) text += (text == "[" ? "\n" : ",\n") + json_of(options, run, devices);
    return text + "\n]\n";
}

std::string csv_text(const std::deque<ReportedRun>& runs) {
    // The columns are those of all runs: parameters first, then the fixed ones, then the labs' own.
    std::vector<std::string> parameters, extras;
    for (const ReportedRun& run : runs) {
        note(parameters, run.problem);
        for (const Result& r : run.results) note(extras, r.extra);
    }
    std::string text;
    for (const auto& name : parameters) text += in_quotes(name) + ",";
    text += "variant,backend,device,status,reason,kernel_ms_median,kernel_ms_min,kernel_ms_max,total_ms,"
            "gb_per_s,gflop_per_s,percent_of_ceiling,speedup,error,tolerance";
    for (const auto& name : extras) text += "," + in_quotes(name);
    text += "\n";
    for (const ReportedRun& run : runs)
        for (const Result& r : run.results) {
            const bool timed = is_timed(r), judged = is_judged(r);
            for (const auto& name : parameters) text += cell(run.problem, name) + ",";
            text += fmt::format(
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", r.variant, name_of(r.backend),
                r.has_device ? r.device.id() : "", name_of(r.status), in_quotes(r.reason), cell(r.kernel.median, timed),
                cell(r.kernel.min, timed), cell(r.kernel.max, timed), cell(r.total_ms, r.total_ms > 0),
                cell(r.gb_per_s(), timed), cell(r.gflop_per_s(), timed), cell(r.percent, timed && r.percent > 0),
                cell(r.speedup, timed && r.speedup > 0), cell(r.error, judged), cell(r.tolerance, judged));
            for (const auto& name : extras) text += "," + cell(r.extra, name);
            text += "\n";
        }
    return text;
}

} // namespace gpulab
