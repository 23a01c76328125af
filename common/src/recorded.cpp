#include "recorded.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "gpulab/error.hpp"

namespace gpulab {

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

fs::path folder() {
    const char* const other = std::getenv("GPULAB_RESULTS");
    return other && *other ? other : GPULAB_RESULTS;
}

std::vector<fs::path> sorted(const fs::path& place) {
    std::vector<fs::path> found;
    std::error_code none; // where there is no such folder
    for (const auto& entry : fs::directory_iterator(place, none)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

bool is_of(const std::string& lab, const std::string& file) { // "saxpy.json", "saxpy-table-2-1.json"
    return file.ends_with(".json") && (file == lab + ".json" || file.starts_with(lab + "-"));
}

std::optional<Parameter> parameter(const std::string& name, const Json& value) {
    if (value.is_string()) return Parameter(name, value.get<std::string>());
    if (value.is_number_integer()) return Parameter(name, value.get<std::int64_t>());
    if (value.is_number()) return Parameter(name, value.get<double>());
    return {};
}

template <class T> T known(const Json& object, const char* name) { // 0 or "": not measured, or not there
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? T{} : found->get<T>();
}
double number(const Json& object, const char* name) { return known<double>(object, name); }
std::string text(const Json& object, const char* name) { return known<std::string>(object, name); }

Backend backend(const std::string& name) {
    for (const Backend one : {Backend::cpu, Backend::opencl, Backend::cuda})
        if (name_of(one) == name) return one;
    throw Error("the back end " + name);
}

std::pair<Result, Ceilings> result_of(const Json& v, const Json& devices) {
    // What is no figure of a lab.
    static const std::set<std::string> common = {
        "name",     "backend",  "device", "status",   "reason",      "kernel_ms",          "repeats",
        "total_ms", "bytes",    "flops",  "gb_per_s", "gflop_per_s", "percent_of_ceiling", "speedup",
        "error",    "tolerance"};
    Result r;
    Ceilings c;
    r.variant = v.at("name").get<std::string>();
    r.backend = backend(v.at("backend").get<std::string>());
    const std::string status = v.at("status").get<std::string>();
    r.status = status == "passed"   ? Result::Status::passed
               : status == "failed" ? Result::Status::failed
                                    : Result::Status::skipped;
    r.reason = text(v, "reason");
    if (const Json& ms = v.at("kernel_ms"); ms.is_object()) {
        r.kernel.median = ms.at("median").get<double>();
        r.kernel.repeats = std::max(1, v.at("repeats").get<int>());
    }
    r.total_ms = number(v, "total_ms");
    r.work = {.bytes = number(v, "bytes"), .flops = number(v, "flops")};
    r.percent = number(v, "percent_of_ceiling");
    r.speedup = number(v, "speedup");
    r.error = number(v, "error");
    for (const auto& [name, value] : v.items())
        if (!common.contains(name))
            if (const auto p = parameter(name, value)) r.extra.push_back(*p);
    const std::string id = text(v, "device");
    for (const Json& device : devices) {
        if (device.at("id") != id) continue;
        r.has_device = true;
        r.device.backend = r.backend;
        r.device.index = std::stoi(id.substr(id.find(':') + 1));
        r.device.name = device.at("name").get<std::string>();
        r.device.platform = text(device, "platform");
        const Json& ceilings = device.at("ceilings");
        c.copy_gb_s = number(ceilings, "copy_gb_per_s");
        c.fp32_gflop_s = number(ceilings, "fp32_gflop_per_s");
        c.fp64_gflop_s = number(ceilings, "fp64_gflop_per_s");
    }
    return {r, c};
}

RecordedRun run_of(const Json& object, const std::string& file) {
    RecordedRun run{
        .file = file, .date = text(object, "date"), .study = text(object, "study"), .problem = {}, .results = {}};
    for (const auto& [name, value] : object.at("problem").items())
        if (name != "seed")
            if (const auto p = parameter(name, value)) run.problem.push_back(*p);
    for (const Json& v : object.at("variants")) run.results.push_back(result_of(v, object.at("devices")));
    return run;
}

} // namespace

std::vector<std::string> recorded_names() {
    std::vector<std::string> names;
    for (const fs::path& path : sorted(folder()))
        if (fs::is_directory(path) && path.filename() != "counts") names.push_back(path.filename().string());
    return names;
}

std::deque<RecordedRun> recorded_runs(const std::string& name, const std::string& lab) {
    std::deque<RecordedRun> runs;
    for (const fs::path& path : sorted(folder() / name)) {
        if (!is_of(lab, path.filename().string())) continue;
        try {
            std::ifstream stream(path);
            const Json all = Json::parse(stream);
            for (const Json& one : all.is_array() ? all : Json::array({all}))
                if (one.contains("lab") && one.at("lab") == lab) // else it is a trace, or of another program
                    runs.push_back(run_of(one, path.filename().string()));
        } catch (const std::exception& error) {
            throw Error(fmt::format("{} holds no results: {}", path.string(), error.what()));
        }
    }
    return runs;
}

bool same_problem(const Parameters& one, const Parameters& other) {
    const auto is_in = [&](const Parameter& p) {
        return std::any_of(other.begin(), other.end(), [&](const Parameter& q) {
            const auto value = [](const Parameter& r) {
                return std::visit([](const auto& v) { return Json(v); }, r.value);
            };
            return p.name == q.name && value(p) == value(q); // 1 and 1.0 are the same
        });
    };
    return one.size() == other.size() && std::all_of(one.begin(), one.end(), is_in);
}

} // namespace gpulab
