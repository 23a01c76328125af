/// @file
/// The contract that the program of every lab is held to: hand-out, lists, refusals, results and studies.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <vector>

#include "gpulab/options.hpp"
#include "gpulab_testing/program.hpp"

namespace gpulab::testing {

/// The names in variant tables.
template <class... Tables> std::set<std::string> names_of(const Tables&... tables) {
    std::set<std::string> names;
    const auto add = [&](const auto& table) {
        for (const auto& variant : table) names.insert(std::string(variant.name));
    };
    (add(tables), ...);
    return names;
}

/// Those of a lab's baselines on the CPU whose library this build does without.
[[maybe_unused]] static std::set<std::string> left_out([[maybe_unused]] const std::string& with_openblas,
                                                       [[maybe_unused]] const std::string& with_eigen) {
    std::set<std::string> names;
#if !defined(GPULAB_WITH_OPENBLAS)
    names.insert(with_openblas);
#endif
#if !defined(GPULAB_WITH_EIGEN)
    names.insert(with_eigen);
#endif
    names.erase("");
    return names;
}

/// The back ends of a variant table, one for each row.
template <class Table> std::vector<Backend> backends_of(const Table& table) {
    std::vector<Backend> all;
    for (const auto& variant : table) all.push_back(variant.backend);
    return all;
}

/// How many rows a run has: one for each device of a variant's back end, or one to say that there is none.
std::size_t rows_of(const std::vector<Backend>& backends);

/// A command line that runs all variants of a table, and what its results must be.
struct Operation {
    std::string arguments;
    nlohmann::json problem;        ///< what "problem" must hold, beside others
    std::vector<Backend> backends; ///< of the rows of the table
    std::string reference;         ///< the variant to which speed-ups refer
    KnownWrong known_wrong;
    std::function<std::string(const nlohmann::json& run, const nlohmann::json& variant)> fault = {}; ///< of what passed
};

/// How a study runs at a small size, and what is wrong with one of its runs.
struct StudyCase {
    std::string arguments;
    std::size_t least = 1; ///< runs
    KnownWrong known_wrong;
    std::function<std::string(const nlohmann::json& run)> fault = {};
    std::vector<Backend> needs = {}; ///< without a device of one of these it is refused
};

/// A command line that reads a file from /dev/stdin and writes out.gz: what it reads comes compressed through a pipe.
struct PipedCase {
    std::string arguments, input;
    std::string output; ///< what it writes begins so
    Files files = {};   ///< others that it reads
};

/// A command line that needs more than 1 GiB on a device, and the bytes that it needs there and in main memory.
struct MemoryCase {
    std::string arguments;
    double device, host;
};

/// How the study `growth` runs: see Program::growth_fault().
struct GrowthCase {
    std::string arguments;
    std::size_t sizes;
    KnownWrong known_wrong;
};

/// What the contract must know of a lab's program.
struct LabProgram {
    Program program;
    std::string readme;                  ///< the hand-out's path
    std::set<std::string> variants;      ///< of all tables
    std::set<std::string> left_out = {}; ///< further rows of the hand-out's ladder
    std::vector<StudySummary> studies;
    std::string options;  ///< those of its own, with spaces between them
    std::string smallest; ///< a command line without a back end that is done at once
    /// Command lines that it refuses beside those that each program refuses. One or more in a line, with bars between
    /// them. Words behind a colon at the end of a line must be in the message.
    std::string refusals;
    Files files = {};    ///< that these name
    bool silent = false; ///< none of them prints anything before it is refused, but the name of a study
    std::vector<Operation> operations;
    std::vector<PipedCase> piped = {};
    std::vector<MemoryCase> memory = {};
    bool times_by_clock = false; ///< its OpenCL rungs are timed by the host's clock, and not by events
    /// Of each study but growth; nothing of one that a test of the lab's own runs, or that has no small size.
    std::function<std::optional<StudyCase>(const std::string& name)> study;
    std::string per_element; ///< of growth: the field with the time for each element
    std::function<double(const nlohmann::json& problem, const nlohmann::json& variant)> elements; ///< of growth
    std::vector<GrowthCase> growth;
};

/// Adds the test cases of the contract when the program starts, with the tag [program]; those that run all studies have
/// [thorough] as well:
///
///     const gpulab::testing::ProgramCases contract([] { return gpulab::testing::LabProgram{...}; });
class ProgramCases {
public:
    explicit ProgramCases(LabProgram (*lab)(), std::source_location where = std::source_location::current());
};

/// Those of the names that a hand-out does not hold in backticks.
std::set<std::string> absent_from(const std::string& readme, const std::set<std::string>& names);

} // namespace gpulab::testing
