/// @file
/// How long the commands of an OpenCL device take, and when they ran.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpulab/opencl/context.hpp"
#include "gpulab/stopwatch.hpp"
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
        commands_.push_back({shown ? shown : name, name, symbol, 0, 1e3 * gpulab::clock_ms(), 0});
        enqueue(&events_.emplace_back());
        if (event) *event = events_.back();
    }
    /// Takes the times of all commands, which must be complete.
    void collect(gpulab::Timeline* timeline) {
        for (std::size_t k = 0; k < commands_.size(); ++k) {
            const gpulab::TraceEvent& c = commands_[k];
            const auto time = [&](auto what) { return 1e-3 * static_cast<double>(what); };
            const double queued = time(events_[k].getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>());
            const double begin = time(events_[k].getProfilingInfo<CL_PROFILING_COMMAND_START>());
            const double end = time(events_[k].getProfilingInfo<CL_PROFILING_COMMAND_END>());
            const bool kernel = c.symbol == '#';
            if (kernel) ms_[c.kind] += 1e-3 * (end - begin);
            if (!timeline) continue;
            // Devices have clocks of their own. A command is queued at the host's time c.begin_us: this is one clock.
            timeline->add({c.name, kernel ? "kernel" : "copy", c.symbol, 2 * lane_ + (kernel ? 0 : 1),
                           begin - queued + c.begin_us, end - queued + c.begin_us});
        }
        commands_.clear();
        events_.clear();
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
    int lane_;
    bool on_ = false;
    std::vector<gpulab::TraceEvent> commands_; // whose times have not been taken; begin_us: when the host queued them
    std::vector<cl::Event> events_;            // one for each
    std::map<std::string, double> ms_;
};

} // namespace cg
