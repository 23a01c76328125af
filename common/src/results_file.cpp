#include "results_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gpulab {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(double value, bool known = true) { return known && std::isfinite(value) ? Json(value) : Json(nullptr); }

void set(Json& object, const Parameter& p) {
    std::visit([&](const auto& value) { object[p.name] = value; }, p.value);
}

bool is_judged(const Result& r) { return r.status != Result::Status::skipped; }
bool has_run(const Result& r) { return is_judged(r) && r.kernel.repeats > 0; }
bool is_timed(const Result& r) { return has_run(r) && !r.device.emulated; }

/// What a judge of a GPU's times asks for.
void add_gpu(Json& object, const ReportedDevice& reported) {
    const GpuState &before = *reported.before, &after = *reported.after;
    object["pci"] = after.pci;
    object["driver"] = after.driver.empty() ? Json(nullptr) : Json(after.driver);
    object["cuda_driver"] = after.cuda_driver;
    object["cuda_runtime"] = after.cuda_runtime;
    object["cuda_toolkit"] = after.cuda_toolkit;
    if (after.driver.empty()) return;
    const auto clock = [](unsigned was, unsigned is, unsigned most) {
        return Json{{"before", was}, {"after", is}, {"most", most}};
    };
    object["sm_mhz"] = clock(before.sm_mhz, after.sm_mhz, after.most_sm_mhz);
    object["memory_mhz"] = clock(before.memory_mhz, after.memory_mhz, after.most_memory_mhz);
    object["slowed_by_power_ms"] = slowed(reported).by_power;
    object["slowed_by_heat_ms"] = slowed(reported).by_heat;
    object["other_processes"] = reported.others;
}

Json json_of(const ReportedDevice& reported) {
    const Device& device = reported.device;
    const Ceilings& c = reported.ceilings;
    Json object = {{"id", device.id()},
                   {"name", device.name},
                   {"backend", name_of(device.backend)},
                   {"platform", device.platform},
                   {"memory_bytes", device.memory_bytes},
                   {"compute_units", device.compute_units},
                   {"ceilings",
                    {{"copy_gb_per_s", or_null(c.copy_gb_s, c.copy_gb_s > 0)},
                     {"fp32_gflop_per_s", or_null(c.fp32_gflop_s, c.fp32_gflop_s > 0)},
                     {"fp64_gflop_per_s", or_null(c.fp64_gflop_s, c.fp64_gflop_s > 0)}}}};
    if (reported.after && !reported.after->pci.empty()) add_gpu(object, reported);
    return object;
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
    v["bytes"] = or_null(r.work.bytes, has_run(r));
    v["flops"] = or_null(r.work.flops, has_run(r));
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

/// The problem and what holds for all of its results.
Json json_of(const Reported& all, const ReportedRun& run) {
    Json object;
    object["lab"] = all.options.lab();
    if (!all.date.empty()) object["date"] = all.date;
    if (!all.options.study().empty()) object["study"] = all.options.study();
    object["problem"] = Json::object();
    for (const Parameter& p : run.problem) set(object["problem"], p);
    object["problem"]["seed"] = all.options.seed();
    const bool timed = run.sequential.ms > 0;
    object["sequential_variant"] = timed ? Json(run.sequential.variant) : Json(nullptr);
    object["sequential_ms"] = or_null(run.sequential.ms, timed);
    return object;
}

/// The results as the files have them: those of a single run by back end and device, whatever has run first.
std::vector<Result> ordered(const Options& options, const ReportedRun& run) {
    std::vector<Result> results(run.results.begin(), run.results.end());
    if (options.study().empty())
        std::ranges::stable_sort(results, {}, [](const Result& r) { return std::pair(r.backend, r.device.index); });
    return results;
}

/// A run as an object with one variant on each line, so that results can be read and compared line by line.
std::string text_of(const Reported& all, const ReportedRun& run) {
    Json object = json_of(all, run);
    object["devices"] = Json::array();
    for (const auto& [id, known] : all.devices) object["devices"].push_back(json_of(known));
    std::string text = compact(object);
    text.pop_back(); // the brace: the variants follow
    text += ",\"variants\":[";
    bool first = true;
    for (const Result& r : ordered(all.options, run)) {
        text += (first ? "\n  " : ",\n  ") + compact(json_of(r));
        first = false;
    }
    return text + "\n]}";
}

/// A text as a cell of a CSV file.
std::string in_quotes(const std::string& text) {
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

/// A value as a cell: a number in the fewest digits that read back the same; nothing for null and what is not finite.
std::string cell(const Json& value) {
    if (value.is_string()) return in_quotes(value.get<std::string>());
    if (!value.is_number_float()) return value.is_null() ? "" : compact(value);
    const auto number = value.get<double>();
    if (!std::isfinite(number)) return "";
    std::array<char, 32> digits; // "-2.2250738585072014e-308" has 24
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr};
}

/// Adds the fields of an object to a row; those of an object within it as "OUTER_INNER", or as "INNER" with no `outer`.
void flatten(Json& row, const Json& object, const std::string& outer = "") {
    for (const auto& [name, value] : object.items())
        if (value.is_object()) flatten(row, value, name == "problem" || name == "ceilings" ? "" : name);
        else row[outer.empty() ? name : outer + "_" + name] = value;
}

/// What the JSON file says of a result, in one flat object: the problem, the device and the result.
Json row_of(const Reported& all, const ReportedRun& run, const Result& r) {
    Json row = Json::object(), result = json_of(r);
    flatten(row, json_of(all, run));
    row["variant"] = result["name"];
    row["backend"] = result["backend"];
    row["device"] = result["device"];
    result.erase("name");
    if (result["kernel_ms"].is_null()) result["kernel_ms"] = {{"median", nullptr}, {"min", nullptr}, {"max", nullptr}};
    const auto known = r.has_device ? all.devices.find(r.device.id()) : all.devices.end();
    Json device = json_of(known != all.devices.end() ? known->second : ReportedDevice{});
    device.erase("id"); // the result has them
    device.erase("backend");
    if (known == all.devices.end())
        for (const char* const name : {"name", "platform", "memory_bytes", "compute_units"}) device[name] = nullptr;
    flatten(row, device, "device");
    flatten(row, result);
    return row;
}

} // namespace

Slowed slowed(const ReportedDevice& device) {
    if (!device.before || !device.after) return {};
    return {device.after->slowed_by_power_ms - device.before->slowed_by_power_ms,
            device.after->slowed_by_heat_ms - device.before->slowed_by_heat_ms};
}

std::string json_text(const Reported& all) {
    if (all.options.study().empty()) return text_of(all, all.runs.front()) + "\n";
    std::string text = "[";
    for (const ReportedRun& run : all.runs) text += (text == "[" ? "\n" : ",\n") + text_of(all, run);
    return text + "\n]\n";
}

std::string csv_text(const Reported& all) {
    std::vector<Json> rows;
    std::vector<std::string> columns;
    const auto note_columns = [&](const Json& row) {
        for (const auto& [name, value] : row.items())
            if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
    };
    for (const ReportedRun& run : all.runs) note_columns(row_of(all, run, {})); // the labs' own figures follow
    for (const ReportedRun& run : all.runs)
        for (const Result& r : ordered(all.options, run)) note_columns(rows.emplace_back(row_of(all, run, r)));
    std::string text;
    const auto add_line = [&](const auto& cell_of) {
        for (const std::string& name : columns) text += (&name == &columns.front() ? "" : ",") + cell_of(name);
        text += "\n";
    };
    add_line([](const std::string& name) { return in_quotes(name); });
    for (const Json& row : rows)
        add_line([&](const std::string& name) { return row.contains(name) ? cell(row[name]) : ""; });
    return text;
}

} // namespace gpulab
