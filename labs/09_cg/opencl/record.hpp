/// @file
/// How long the commands of an OpenCL device take, and when they ran.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "gpulab/opencl/context.hpp"
#include "gpulab/trace/trace.hpp"

namespace cg {

/// The commands of one device: how long each kind has taken and, when it is asked for, when each of them ran. Off at
/// first, because asking for the times takes the host longer than a small kernel runs.
class ClRecord {
public:
    /// @param lane of the device in the timeline; copies have the lane behind it
    explicit ClRecord(int lane) : lane_(lane) {}
    /// Puts a command into a queue.
    /// @param name whose time it counts as @param symbol '#' for a kernel, '<' and '>' for copies
    /// @param event gets the command's event, unless null
    /// @param enqueue `enqueue(place)` calls the enqueue function with this last argument
    /// @param shown its name in the timeline; null: `name`
    template <class Enqueue>
    void command(const char* name, char symbol, cl::Event* event, const Enqueue& enqueue, const char* shown = nullptr) {
        if (!on_) return enqueue(event);
        marks_.push_back({name, shown ? shown : name, symbol, {}, now_us()});
        enqueue(&marks_.back().event);
        if (event) *event = marks_.back().event;
    }
    /// Takes the times of all commands, which must be complete.
    void collect(gpulab::Timeline* timeline) {
        for (const Mark& m : marks_) {
            const auto time = [&](auto what) { return 1e-3 * static_cast<double>(what); };
            const double queued = time(m.event.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>());
            const double begin = time(m.event.getProfilingInfo<CL_PROFILING_COMMAND_START>());
            const double end = time(m.event.getProfilingInfo<CL_PROFILING_COMMAND_END>());
            const bool kernel = m.symbol == '#';
            if (kernel) ms_[m.name] += 1e-3 * (end - begin);
            if (!timeline) continue;
            // Devices have clocks of their own. A command is queued at the host's time m.host_us, so this is one clock.
            timeline->add({m.shown, kernel ? "kernel" : "copy", m.symbol, 2 * lane_ + (kernel ? 0 : 1),
                           begin - queued + m.host_us, end - queued + m.host_us});
        }
        marks_.clear();
    }
    /// Begins to record, with nothing so far.
    void start() {
        on_ = true;
        ms_.clear();
    }
    /// Takes the times that are left, and records no more. @pre all commands are complete
    void stop() {
        collect(nullptr);
        on_ = false;
    }
    const std::map<std::string, double>& ms() const { return ms_; }

private:
    struct Mark {
        const char* name;
        const char* shown;
        char symbol;
        cl::Event event;
        double host_us;
    };
    static double now_us() {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    int lane_;
    bool on_ = false;
    std::vector<Mark> marks_; // of commands whose times have not been taken
    std::map<std::string, double> ms_;
};

} // namespace cg
