#include "gpulab_testing/program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include <sys/wait.h>

#include "gpulab_testing/environment.hpp"

namespace gpulab::testing {

namespace fs = std::filesystem;

namespace {
/// Whether the own test of a variant that the program calls wrong says so too.
bool excused(const nlohmann::json& variant, const KnownWrong& known_wrong) {
    return known_wrong && known_wrong(variant.at("name"), variant.at("device"));
}

void write_to(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}
} // namespace

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

ScratchFile::ScratchFile() {
    std::random_device random;
    path_ = (fs::temp_directory_path() / fmt::format("gpulab_test_{:08x}{:08x}", random(), random())).string();
}

ScratchFile::~ScratchFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
}

std::string ScratchFile::text() const { return bytes_of(path_); }

nlohmann::json ScratchFile::json() const { return nlohmann::json::parse(text()); }

void ScratchFile::write(const std::string& text) const { write_to(path_, text); }

ScratchFolder::ScratchFolder() { fs::create_directory(file_.path()); }

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(file_.path(), ignored);
}

nlohmann::json ScratchFolder::json(const std::string& name) const { return nlohmann::json::parse(text(name)); }

void ScratchFolder::write(const std::string& name, const std::string& text) const { write_to(path(name), text); }

bool ScratchFolder::has(const std::string& name) const { return fs::exists(path(name)); }

Program Program::in(const ScratchFolder& folder) const {
    Program there = *this;
    there.folder_ = folder.path();
    return there;
}

Outcome Program::operator()(const std::string& arguments) const { return fed("", arguments); }

Outcome Program::done(const std::string& arguments) const {
    Outcome outcome = (*this)(arguments);
    if (outcome.exit_code == 0) return outcome;
    throw std::runtime_error(
        fmt::format("{} ends with {}: {}{}", arguments, outcome.exit_code, outcome.out, outcome.err));
}

Outcome Program::fed(const std::string& file, const std::string& arguments) const {
    const ScratchFile out, err;
    const Environment quick("GPULAB_TEST_CEILINGS", "quick"); // nobody looks at the rates
    const std::string command =
        fmt::format("cd \"{}\" && {} \"{}\" {} > \"{}\" 2> \"{}\"", folder_,
                    file.empty() ? "" : fmt::format("cat \"{}\" |", file), path_, arguments, out.path(), err.path());
    Outcome outcome;
    const int status = std::system(command.c_str());
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.out = out.text();
    outcome.err = err.text();
    return outcome;
}

std::string Program::refusal_fault(const std::string& arguments, const std::string& says, const Files& files,
                                   bool silent) const {
    const ScratchFolder folder;
    for (const auto& [name, text] : files) folder.write(name, text);
    const Outcome outcome = in(folder)(arguments + (arguments.find("--json") == std::string::npos ? " --json j" : ""));
    if (outcome.exit_code != 2) return fmt::format("exit code {}, not 2: {}", outcome.exit_code, outcome.err);
    if (std::count(outcome.err.begin(), outcome.err.end(), '\n') != 1 || !outcome.err.ends_with('\n'))
        return "not one line: " + outcome.err;
    if (silent && !outcome.out.empty()) return "it printed something before: " + outcome.out;
    if (!outcome.err.starts_with(lab_ + ": ")) return "does not begin with the lab's name: " + outcome.err;
    if (outcome.err.find(says) == std::string::npos) return fmt::format("not \"{}\": {}", says, outcome.err);
    for (const auto& entry : fs::directory_iterator(folder.path())) {
        const auto file = files.find(entry.path().filename().string());
        if (file == files.end()) return "there is a file, or a part of one: " + entry.path().string();
        if (folder.text(file->first) != file->second) return "another content: " + entry.path().string();
    }
    return "";
}

std::set<std::string> Program::missing(const std::string& arguments, const std::set<std::string>& words) const {
    const Outcome outcome = done(arguments);
    std::set<std::string> absent;
    for (const std::string& word : words)
        if (outcome.out.find(word) == std::string::npos) absent.insert(word);
    return absent;
}

nlohmann::json Program::results(const std::string& arguments, Outcome* to) const {
    const ScratchFile json;
    const Outcome outcome = (*this)(arguments + " --json " + json.path());
    if (outcome.exit_code != 0 && outcome.exit_code != 1)
        throw std::runtime_error(fmt::format("{} ends with {}: {}", arguments, outcome.exit_code, outcome.err));
    if (to) *to = outcome;
    const nlohmann::json results = json.json();
    const bool failed = results.dump().find("\"status\":\"failed\"") != std::string::npos;
    if (failed != (outcome.exit_code == 1))
        throw std::runtime_error(fmt::format("{} ends with {}, and {} failed", arguments, outcome.exit_code,
                                             failed ? "a variant has" : "no variant has"));
    return results;
}

std::string Program::study_fault(const std::string& study, const std::string& arguments, std::size_t least,
                                 const KnownWrong& known_wrong,
                                 const std::function<std::string(const nlohmann::json& run)>& fault) const {
    const nlohmann::json runs = results(fmt::format("--study {} --repeat 1 --warmup 0 {}", study, arguments));
    if (!runs.is_array()) return "no list";
    if (runs.size() < least) return fmt::format("{} runs", runs.size());
    for (const auto& run : runs) {
        if (run.at("lab") != lab_ || run.at("study") != study) return "a run of something else: " + run.dump();
        if (run.at("variants").empty()) return "a run without variants: " + run.dump();
        for (const auto& v : run.at("variants"))
            if (v.at("status") == "failed" && !excused(v, known_wrong)) return "wrong: " + v.dump();
        if (const std::string why = fault ? fault(run) : ""; !why.empty()) return why + ": " + run.dump();
    }
    return "";
}

std::string Program::growth_fault(const std::string& arguments, const std::string& field, std::size_t sizes,
                                  const std::function<double(const nlohmann::json&, const nlohmann::json&)>& elements,
                                  const KnownWrong& known_wrong) const {
    std::size_t runs = 0;
    const auto fault = [&](const nlohmann::json& run) -> std::string {
        bool any = false;
        for (const auto& v : run.at("variants")) {
            if (v.at("status") != "passed") continue;
            any = true;
            const double ns = 1e6 * v.at("kernel_ms").at("median").get<double>() / elements(run.at("problem"), v);
            if (!v.contains(field) || std::abs(v.at(field).get<double>() / ns - 1) > 1e-12)
                return fmt::format("{} of {} should be {}", field, v.at("name").dump(), ns);
        }
        if (!any) return "a size without a result";
        return ++runs > sizes ? "a size too many" : "";
    };
    return study_fault("growth", arguments, sizes, known_wrong, fault);
}

std::string run_fault(const nlohmann::json& run, const std::string& reference, const KnownWrong& known_wrong) {
    if (run.at("variants").empty()) return "no variants";
    if (const std::string why = reference_fault(run, reference); !why.empty()) return why;
    for (const auto& v : run.at("variants")) {
        const std::string backend = v.at("backend"), status = v.at("status");
        const auto fault = [&](const char* what) { return fmt::format("{}: {}", what, v.dump()); };
        if (status == "skipped") {
            if (v.at("reason").get<std::string>().empty()) return fault("skipped without a reason");
            if (backend == "cpu") return fault("skipped on the CPU");
            if (backend == "opencl" && !devices(Backend::opencl).empty()) return fault("skipped in OpenCL");
        } else if (status == "passed") {
            if (backend == "cuda" && devices(Backend::cuda).empty()) return fault("passed without a device");
            if (!(v.at("kernel_ms").at("median") > 0 && v.at("total_ms") > 0)) return fault("no time");
            if (!(v.at("percent_of_ceiling") > 0 && v.at("speedup") > 0)) return fault("no rate");
            if (!(v.at("error") <= v.at("tolerance"))) return fault("passed with too large an error");
        } else if (status != "failed" || !excused(v, known_wrong)) {
            return fault("neither passed nor skipped");
        }
    }
    return "";
}

std::string reference_fault(const nlohmann::json& run, const std::string& variant) {
    const auto& reference = run.at("sequential_variant");
    if (reference == variant) return "";
    const auto has_none = [](const nlohmann::json& v) { return v.at("speedup").is_null(); };
    if (reference.is_null() && std::ranges::all_of(run.at("variants"), has_none)) return "";
    return fmt::format("speed-ups refer to {}, not to {}", reference.dump(), variant);
}

} // namespace gpulab::testing
