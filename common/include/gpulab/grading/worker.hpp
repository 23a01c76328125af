/// @file
/// The worker of an exercise: the process that runs a student's rung. It gets a problem, runs the rung, and hands back
/// the output. It knows neither the right answer nor the test that the problem belongs to.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/grading/changes.hpp"
#include "gpulab/grading/fields.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/input_copies.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/test_hooks.hpp"

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
        runs_[type] = [run](Reader& in, Stopwatch& watch, std::uint64_t changes, Writer& out) {
            typename Task::Problem problem;
            Task::fields(in, problem);
            std::optional<Changer> changer;
            if constexpr (Changing<Task>)
                if (changes != 0) changer.emplace(changes, Task::changing(problem), watch);
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
    /// Changes an input before some of the runs, on the host and in the device buffers that were made from it.
    class Changer : public RunListener {
    public:
        template <class T>
        Changer(std::uint64_t seed, std::vector<T>& values, Stopwatch& watch)
            : change_([&values, &watch, seed, this](int run) {
                  const auto change = change_before(seed, run, watch.repeats(), values.size());
                  if (!change) return;
                  make(*change, values);
                  if (!copies_.write(values.data(), change->to * sizeof(T), values.data() + change->to,
                                     change->count * sizeof(T)))
                      throw WrongResult("a test of speed changes an input between two runs, and finds no DeviceBuffer "
                                        "that was made from it");
              }) {
            hooks_.listener = this;
            watch.hooks = &hooks_;
            input_copies = &copies_;
        }
        Changer(const Changer&) = delete;
        Changer& operator=(const Changer&) = delete;
        ~Changer() { input_copies = nullptr; }

        void before_run() override {
            if (copies_.forget_l2) copies_.forget_l2();
            change_(run_++);
        }

    private:
        InputCopies copies_;
        TestHooks hooks_;
        int run_ = 0;
        std::function<void(int run)> change_;
    };

    std::string answer(std::string_view message) const;

    Backend backend_;
    std::map<std::string, std::function<void(Reader&, Stopwatch&, std::uint64_t changes, Writer&)>> runs_;
};

/// The text of a kernel that the worker loads when it runs, from the folder that the environment variable
/// GPULAB_KERNELS names. It takes the place of the text that the build embeds into a lab.
/// @return the text; when there is no such file, a text that does not compile and says so
std::string kernel_file(const std::string& name);

} // namespace gpulab::grading
