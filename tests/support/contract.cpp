#include "gpulab_testing/contract.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fmt/format.h>
#include <regex>
#include <sstream>

#include "gpulab/file.hpp"
#include "gpulab/input_file.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/variants.hpp"

namespace gpulab::testing {

namespace {
using Words = std::set<std::string>;

/// The variants that a hand-out's ladder names: the rows of its tables that start with `| ` and a name in backticks
/// that begins with cpu_, opencl_ or cuda_.
Words variants_in_ladder(const std::string& readme) {
    const std::string text = bytes_of(readme);
    static const std::regex row(R"((^|\n)\| *`((cpu|opencl|cuda)_[a-z0-9_]+)` *\|)");
    Words names;
    for (auto match = std::sregex_iterator(text.begin(), text.end(), row); match != std::sregex_iterator(); ++match)
        names.insert((*match)[2]);
    return names;
}

Words names_of_studies(const LabProgram& lab) {
    Words names;
    for (const StudySummary& study : lab.studies) names.insert(study.name);
    return names;
}

void check_hand_out(const LabProgram& lab) {
    Words rows = lab.variants;
    rows.insert(lab.left_out.begin(), lab.left_out.end());
    CHECK(variants_in_ladder(lab.readme) == rows);
    CHECK(absent_from(lab.readme, names_of_studies(lab)) == Words{});
}

void check_lists(const LabProgram& lab) {
    std::istringstream own(lab.options);
    Words options = {"--list", "--variant", "--backend", "--device", "--repeat", "--warmup",
                     "--seed", "--study",   "--json",    "--csv",    "--help"};
    for (std::string option; own >> option;) options.insert(option);
    CHECK(lab.program.missing("--list", lab.variants) == Words{});
    CHECK(lab.program.missing("--study list", names_of_studies(lab)) == Words{});
    CHECK(lab.program.missing("--help", options) == Words{});
}

/// What is wrong with the figures of a run that follow from others beside them, or "".
std::string figures_fault(const nlohmann::json& run) {
    const auto& reference = run.at("sequential_variant");
    const auto is_reference = [&](const nlohmann::json& v) { return v["name"] == reference; };
    bool known = std::ranges::none_of(run.at("variants"), is_reference); // else from its own row on
    for (const auto& v : run.at("variants")) {
        known = known || is_reference(v);
        if (v.at("kernel_ms").is_null()) continue;
        const double ms = v["kernel_ms"]["median"];
        if (!(v["kernel_ms"]["min"] <= ms && ms <= v["kernel_ms"]["max"])) return "the median: " + v.dump();
        const auto differs = [&](const char* name, double value) {
            return v.contains(name) && v[name].is_number() &&
                   !(std::abs(v[name].get<double>() - value) <= 1e-9 * std::abs(value));
        };
        if (v["bytes"].is_number() && differs("gb_per_s", v["bytes"].get<double>() / ms * 1e-6))
            return "GB/s: " + v.dump();
        if (v["flops"].is_number() && differs("gflop_per_s", v["flops"].get<double>() / ms * 1e-6))
            return "GFLOP/s: " + v.dump();
        if (run.at("sequential_ms").is_null() || !known) continue;
        const double speedup = run["sequential_ms"].get<double>() / ms;
        if (differs("speedup", speedup)) return "speed-up: " + v.dump();
        if (!v.contains("efficiency")) continue;
        const double threads = run.at("problem").at("threads");
        if (differs("efficiency", speedup / threads)) return "efficiency: " + v.dump();
        if (differs("serial_fraction", (1 / speedup - 1 / threads) / (1 - 1 / threads))) return "serial: " + v.dump();
    }
    return "";
}

std::string trimmed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

void check_refusals(const LabProgram& lab) {
    // What common/ refuses is tested there; these show that the program asks it to.
    std::istringstream lines("stray\n--variant cuda_nothing\n--study nothing\n--csv ''\n"
                             "--csv /nonexistent/folder/x.csv\n" +
                             lab.refusals);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(" : ");
        const std::string says = colon == std::string::npos ? "" : trimmed(line.substr(colon + 3));
        std::istringstream commands(line.substr(0, colon));
        for (std::string command; std::getline(commands, command, '|');) {
            if (trimmed(command).empty()) continue;
            INFO(command);
            const bool silent = lab.silent && command.find("--study") == std::string::npos; // which names itself first
            CHECK(lab.program.refusal_fault(trimmed(command), says, lab.files, silent) == "");
        }
    }
    // A missing back end is an error only when it is named: the operations run without.
    const std::string cuda = lab.smallest + " --repeat 1 --backend cuda";
    if (devices(Backend::cuda).empty()) CHECK(lab.program.refusal_fault(cuda, why_no_devices(Backend::cuda)) == "");
    else CHECK(lab.program(cuda).exit_code <= 1); // 1: a variant is wrong, which its own test reports
}

void check_pipes(const LabProgram& lab) {
    for (const PipedCase& piped : lab.piped) {
        INFO(piped.arguments);
        const ScratchFolder folder;
        for (const auto& [name, text] : piped.files) OutputFile(folder.path(name)).write(text);
        OutputFile(folder.path("in.gz")).write(piped.input);
        const Outcome run = lab.program.in(folder).fed(folder.path("in.gz"), piped.arguments);
        CHECK(run.err == "");
        REQUIRE(run.exit_code == 0);
        CHECK(folder.text("out.gz").starts_with("\x1F\x8B"));
        CHECK(content_of(folder.path("out.gz"), 1 << 24).starts_with(piped.output));
    }
}

void check_operations(const LabProgram& lab) {
    check_pipes(lab);
    for (const Operation& op : lab.operations) {
        INFO(op.arguments);
        const ScratchFile csv;
        const auto run = lab.program.results(op.arguments + " --csv " + csv.path());
        CHECK(run["lab"] == lab.program.lab());
        for (const auto& [name, value] : op.problem.items()) CHECK(run["problem"][name] == value);
        CHECK(run["variants"].size() == rows_of(op.backends));
        CHECK(run_fault(run, op.reference, op.known_wrong) == "");
        CHECK(figures_fault(run) == "");
        const std::string rows = csv.text();
        CHECK(static_cast<std::size_t>(std::ranges::count(rows, '\n')) == 1 + run["variants"].size());
        for (const auto& v : run["variants"]) {
            INFO(v.dump());
            CHECK(rows.find(v["name"].get<std::string>()) != std::string::npos);
            if (op.fault && v["status"] == "passed") CHECK(op.fault(run, v) == "");
        }
    }
}

void check_studies(const LabProgram& lab) {
    for (const std::string& name : names_of_studies(lab)) {
        if (name == "growth") continue; // see check_growth()
        INFO(name);
        const std::optional<StudyCase> found = lab.study(name);
        if (!found) continue;
        const StudyCase& study = *found;
        const auto missing = [](Backend backend) { return devices(backend).empty(); };
        if (!study.needs.empty() && std::ranges::all_of(study.needs, missing))
            CHECK(lab.program.refusal_fault(fmt::format("--study {} {}", name, study.arguments)) == "");
        else
            CHECK(lab.program.study_fault(name, study.arguments, study.least, study.known_wrong, [&](const auto& run) {
                const std::string why = figures_fault(run);
                return why.empty() && study.fault ? study.fault(run) : why;
            }) == "");
    }
}

void check_growth(const LabProgram& lab) {
    for (const GrowthCase& growth : lab.growth)
        CHECK(lab.program.growth_fault(growth.arguments, lab.per_element, growth.sizes, lab.elements,
                                       growth.known_wrong) == "");
}

/// Command lines that run all of its variants, at a small size.
std::vector<std::string> commands_of(const LabProgram& lab) {
    std::vector<std::string> commands = {lab.smallest};
    for (const Operation& op : lab.operations) commands.push_back(op.arguments);
    return commands;
}

#if defined(TIMED_COMMANDS) && !defined(__SANITIZE_ADDRESS__)
void check_timed_commands(const LabProgram& lab) {
    (void)devices_or_skip(Backend::opencl);
    if (lab.times_by_clock) SKIP("its OpenCL rungs are timed by the host's clock");
    const ScratchFile found;
    const Environment preload("LD_PRELOAD", TIMED_COMMANDS), file("TIMED_COMMANDS", found.path().c_str());
    for (const std::string& command : commands_of(lab)) {
        const auto run = lab.program.results(command + " --warmup 1 --backend opencl");
        for (const auto& v : run["variants"])
            if (v["status"] == "passed") CHECK(v["kernel_ms"]["median"] == 5002.5);
    }
    std::istringstream lines(found.text());
    std::size_t groups = 0;
    for (std::string line; std::getline(lines, line); ++groups) CHECK(line == "right");
    CHECK(groups > 0);
}
#endif

void check_memory(const LabProgram& lab) {
    if (devices_or_skip(Backend::opencl).front().platform != "Portable Computing Language")
        SKIP("needs PoCL, whose memory can be limited");
    const Environment limit("POCL_MEMORY_LIMIT", "1"); // GiB. A CPU device has the arrays of both
    for (const MemoryCase& one : lab.memory) {
        INFO(one.arguments);
        const std::string needs = fmt::format("needs {:.1f} GiB on opencl:0", (one.device + one.host) / 0x1p30);
        CHECK(lab.program.refusal_fault(one.arguments + " --device opencl:0", needs) == "");
    }
}

void check_small_groups(const LabProgram& lab) {
    if (devices_or_skip(Backend::opencl).front().platform != "Portable Computing Language") SKIP("needs PoCL");
    const Environment small("POCL_MAX_WORK_GROUP_SIZE", "16");
    for (const std::string& command : commands_of(lab)) {
        INFO(command);
        const auto run = lab.program.results(command + " --backend opencl");
        CHECK_FALSE(run["variants"].empty());
        for (const auto& v : run["variants"]) {
            INFO(v.dump());
            if (v["status"] == "skipped") CHECK(v["reason"].get<std::string>().find("group") != std::string::npos);
        }
    }
}
} // namespace

std::size_t rows_of(const std::vector<Backend>& backends) {
    std::size_t rows = 0;
    for (const Backend backend : backends) rows += std::max<std::size_t>(devices(backend).size(), 1);
    return rows;
}

std::set<std::string> absent_from(const std::string& readme, const std::set<std::string>& names) {
    const std::string text = bytes_of(readme);
    Words absent;
    for (const std::string& name : names)
        if (text.find("`" + name + "`") == std::string::npos) absent.insert(name);
    return absent;
}

ProgramCases::ProgramCases(LabProgram (*lab)(), std::source_location where) {
    const auto add = [&](const char* sentence, const char* tags, void (*check)(const LabProgram&)) {
        detail::add_test_case(
            sentence, tags, [=] { check(lab()); }, where);
    };
    add("the README's ladder is the variant table, and it names every study", "[program]", check_hand_out);
    add("the program lists every variant (--list), study (--study list) and option (--help)", "[program]", check_lists);
    add("bad input is one line on stderr, exit code 2 and no file", "[program]", check_refusals);
    add("every variant that can run passes, the others are skipped with reasons, and both files have every row",
        "[program]", check_operations);
#if defined(TIMED_COMMANDS) && !defined(__SANITIZE_ADDRESS__)
    add("the kernel time of an OpenCL rung runs from the start of its first kernel to the end of its last command",
        "[program]", check_timed_commands);
#endif
    add("what does not fit a device is refused with what it needs there and in main memory", "[program]", check_memory);
    add("what needs larger groups than a device takes is skipped, and all else runs", "[program][thorough]",
        check_small_groups);
    add("every study runs and writes a list of runs", "[program][thorough]", check_studies);
    add("the study of growth has the time per element at each size", "[program][thorough]", check_growth);
}

} // namespace gpulab::testing
