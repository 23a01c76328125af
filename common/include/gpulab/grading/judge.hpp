/// @file
/// The judge of a lab's exercises: makes the problems of a test, and compares the answers of a worker. It never runs a
/// student's code. The reference is computed when the answers are compared, after the worker has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "gpulab/compare.hpp"
#include "gpulab/error.hpp"
#include "gpulab/grading/changes.hpp"
#include "gpulab/grading/fields.hpp"

namespace gpulab::grading {

/// One case of a test as exercises.toml describes it: {"op": "sum", "type": "float", "n": 257}.
using Case = nlohmann::json;

/// A field of a case, or `otherwise` if the case does not have it.
template <class T> T field(const Case& c, const char* name, T otherwise) {
    return c.contains(name) ? c.at(name).get<T>() : otherwise;
}

/// The name of an element type in a case.
template <class T> inline constexpr const char* type_name = nullptr;
template <> inline constexpr const char* type_name<float> = "float";
template <> inline constexpr const char* type_name<double> = "double";
template <> inline constexpr const char* type_name<int> = "int";

/// Makes and compares the cases of a lab's operations.
class Judge {
public:
    /// @tparam Task as for Worker::add(), with two more: `make(case, seed)` gives the problem and
    ///         `check(case, problem, output)` a Comparison, which computes the reference. It may have
    ///         `changing(problem)`: see gpulab/grading/changes.hpp
    /// @param op,type the values of the fields "op" and "type" in a case of this task
    template <class Task> void add(const std::string& op, const std::string& type = "") {
        Entry& entry = tasks_[op + " " + type];
        entry.problem = [](const Case& c, Writer& out) {
            typename Task::Problem problem = Task::make(c, seed_of(c));
            Task::fields(out, problem);
        };
        entry.check = [](const Case& c, Reader& in) {
            typename Task::Problem problem = Task::make(c, seed_of(c)); // the same again, from the same seed
            if constexpr (Changing<Task>)
                if (const auto seed = field<std::uint64_t>(c, "changes", 0); seed != 0)
                    for (int run = 0, runs = field(c, "repeats", 1); run < runs; ++run)
                        if (auto& values = Task::changing(problem);
                            const auto change = change_before(seed, run, runs, values.size()))
                            grading::make(*change, values);
            typename Task::Output output = Task::room(problem);
            Task::fields(in, output);
            if (!in.at_end()) throw Error("there is more than an output");
            return Task::check(c, problem, output);
        };
    }

    /// The same for a task that is a template: one for each type, with its name in the field "type".
    template <template <class> class Task, class... Types> void add(const std::string& op) {
        (add<Task<Types>>(op, type_name<Types>), ...);
    }

    /// The program: `make SPEC CASES` writes messages for a worker, `check SPEC ANSWERS` prints a verdict for each
    /// case as JSON, `devices` prints the devices found.
    /// @param argv SPEC is a JSON file with a list of cases
    /// @return the exit code
    int main(int argc, char** argv) const;

private:
    struct Entry {
        std::function<void(const Case&, Writer&)> problem;
        std::function<Comparison(const Case&, Reader&)> check;
    };
    static std::uint64_t seed_of(const Case& c);
    const Entry& entry_of(const Case& c) const;
    nlohmann::json verdict(const Case& c, std::string_view answer) const;

    std::map<std::string, Entry> tasks_;
};

/// Each lab's judge.cpp defines it: adds the tasks of its exercises. main() is in common/src/grading/judge.cpp.
void add_tasks(Judge& judge);

} // namespace gpulab::grading
