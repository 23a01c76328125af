/// @file
/// Runs a lab's program as a user does: what it prints, what it writes, how it ends.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/device.hpp"

namespace gpulab::testing {

/// The bytes of a file. @throws std::runtime_error when it cannot be read
std::string bytes_of(const std::string& path);

/// A name for a file that no other test uses, also in another process. The file is not there yet; what is there when
/// this goes is removed.
class ScratchFile {
public:
    ScratchFile();
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;

    const std::string& path() const { return path_; }
    std::string text() const;    ///< @throws as bytes_of()
    nlohmann::json json() const; ///< @throws as text(), and for what is no JSON
    void write(const std::string& text) const;

private:
    std::string path_;
};

/// A folder for one test, removed with all that it holds.
class ScratchFolder {
public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::string& path() const { return file_.path(); }
    std::string path(const std::string& name) const { return file_.path() + "/" + name; } ///< of a file in it
    std::string text(const std::string& name) const { return bytes_of(path(name)); }      ///< @throws as bytes_of()
    nlohmann::json json(const std::string& name) const; ///< @throws as text(), and for what is no JSON
    void write(const std::string& name, const std::string& text) const;
    bool has(const std::string& name) const; ///< whether there is such a file

private:
    ScratchFile file_;
};

/// The names and contents of files.
using Files = std::map<std::string, std::string>;

/// What a program said and how it ended.
struct Outcome {
    int exit_code = -1;
    std::string out;
    std::string err;
};

/// Whether a variant, given its name and the id of its device, gives a wrong answer in its own test as well. The tests
/// of the program then leave it to that one, so that a student who breaks one rung sees the tests of that rung fail.
using KnownWrong = std::function<bool(const std::string& variant, const std::string& device)>;

/// KnownWrong from a variant table: runs the variant of that name on that device.
/// @param fault `fault(variant)`: what is wrong with a row of the table on the current device, or ""
template <class Table, class Fault> KnownWrong known_wrong(const Table& table, const Fault& fault) {
    return [table, fault](const std::string& name, const std::string& id) {
        for (const auto& variant : table)
            for (const Device& device : devices(variant.backend)) {
                if (variant.name != name || device.id() != id) continue;
                use(device);
                return !std::string(fault(variant)).empty();
            }
        return false; // a kernel of a study
    };
}

/// KnownWrong of several tables.
inline KnownWrong any_of(const std::vector<KnownWrong>& tables) {
    return [tables](const std::string& name, const std::string& id) {
        return std::ranges::any_of(tables, [&](const KnownWrong& wrong) { return wrong(name, id); });
    };
}

/// The program of one lab.
class Program {
public:
    /// @param lab as it calls itself @param path of the executable
    Program(std::string lab, std::string path) : lab_(std::move(lab)), path_(std::move(path)) {}

    const std::string& lab() const { return lab_; }

    /// The same program, run in a folder: file names in its arguments are those of the folder.
    Program in(const ScratchFolder& folder) const;

    /// Runs it through the shell. @param arguments as typed, quoted by the caller where needed
    Outcome operator()(const std::string& arguments) const;

    /// The same. @throws std::runtime_error when it does not end with 0
    Outcome done(const std::string& arguments) const;

    /// As operator() with a file's content on stdin, through a pipe. The program may read it as /dev/stdin.
    Outcome fed(const std::string& file, const std::string& arguments) const;

    /// What is wrong with how it refuses these arguments, or "": it must end with 2 and one line on stderr that begins
    /// with its name, leave neither a results file nor a temporary one, and change no file.
    /// @param says words that the line must hold @param files what there is in the folder in which it runs
    /// @param silent whether nothing may be on stdout
    std::string refusal_fault(const std::string& arguments, const std::string& says = "", const Files& files = {},
                              bool silent = false) const;

    /// Those of the words that it does not print. @throws std::runtime_error when it does not end with 0
    std::set<std::string> missing(const std::string& arguments, const std::set<std::string>& words) const;

    /// Runs it with --json besides.
    /// @param outcome receives how it ended @return what it wrote
    /// @throws std::runtime_error when its exit code is not 0, or 1 although no variant failed, or 0 although one did
    nlohmann::json results(const std::string& arguments, Outcome* outcome = nullptr) const;

    /// What is wrong with a study's list of runs, or "": there must be at least `least`, and none with a variant that
    /// failed. @param arguments its sizes and the like @param known_wrong see run_fault()
    /// @param fault what is wrong with one of the runs, or ""
    std::string study_fault(const std::string& study, const std::string& arguments, std::size_t least = 1,
                            const KnownWrong& known_wrong = {},
                            const std::function<std::string(const nlohmann::json& run)>& fault = {}) const;

    /// What is wrong with the study `growth`, or "": as study_fault() says, or there are not as many sizes, or one has
    /// no result, or a result's time per element is not that of its kernel divided by its elements.
    /// @param field the name of the time per element
    /// @param elements of a result, from the problem and the variant in the file
    std::string growth_fault(const std::string& arguments, const std::string& field, std::size_t sizes,
                             const std::function<double(const nlohmann::json&, const nlohmann::json&)>& elements,
                             const KnownWrong& known_wrong = {}) const;

private:
    std::string lab_, path_, folder_ = ".";
};

/// What is wrong with one run in a results file, or "": a variant of a back end without a device must be skipped, those
/// of the CPU and of OpenCL devices right; what was skipped has a reason, what was right a time, a rate and an error
/// within its tolerance.
/// @param reference the name of the variant to which speed-ups must refer
/// @param known_wrong excuses a variant that the program calls wrong when its own test says so too
std::string run_fault(const nlohmann::json& run, const std::string& reference, const KnownWrong& known_wrong = {});

/// What is wrong with the variant to which the speed-ups of a run refer, or "": it must be the one with this name. A
/// run without speed-ups may have none.
std::string reference_fault(const nlohmann::json& run, const std::string& variant);

} // namespace gpulab::testing
