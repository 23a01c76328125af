/// @file
/// The worker of an exercise: the process that runs a student's rung. It gets a problem, runs the rung, and hands back
/// the output. It knows neither the right answer nor the test that the problem belongs to.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/grading/fields.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/stopwatch.hpp"

namespace gpulab::grading {

/// Serves one rung, for each element type that it has.
class Worker {
public:
    /// @param backend that the rung runs on; its first device is used
    explicit Worker(Backend backend) : backend_(backend) {}

    /// @tparam Task has `Problem`, `Output`, `fields(archive, Problem&)`, `fields(archive, Output&)` and
    ///         `room(problem)`, which makes an output of the right size
    /// @param type the element type as a case names it; "" when there is only one
    template <class Task, class Run> void add(const std::string& type, Run* run) {
        runs_[type] = [run](Reader& in, Stopwatch& watch, Writer& out) {
            typename Task::Problem problem;
            Task::fields(in, problem);
            typename Task::Output output = Task::room(problem);
            poison(output);
            take_stray_write();
            run(problem, output, watch);
            if (const std::string stray = take_stray_write(); !stray.empty()) throw WrongResult(stray);
            out(Answer::output, std::string());
            Task::fields(out, output);
        };
    }

    /// Answers cases from stdin until it ends. A message is its length in eight bytes and then its bytes.
    /// What the rung prints to stdout goes to stderr.
    /// @return the exit code of the program
    int serve() const;

private:
    std::string answer(std::string_view message) const;

    Backend backend_;
    std::map<std::string, std::function<void(Reader&, Stopwatch&, Writer&)>> runs_;
};

/// The text of a kernel that the worker loads when it runs, from the folder that the environment variable
/// GPULAB_KERNELS names. It takes the place of the text that the build embeds into a lab.
/// @return the text; when there is no such file, a text that does not compile and says so
std::string kernel_file(const std::string& name);

} // namespace gpulab::grading
