/// @file
/// When the commands of a GPU ran, and how long each kind of kernel took.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "gpulab/cuda/stream.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/trace/trace.hpp"

namespace cg {

/// The commands of one part, by events before and after each one; off at first. Devices have clocks of their own: each
/// is compared with the host's once, when the device is idle.
class GpuTrace {
public:
    /// Begins to record, with nothing so far.
    void start(cudaStream_t stream) {
        ms_.clear();
        zero_.emplace();
        zero_->record(stream);
        zero_->synchronize();
        host_us_ = 1e3 * gpulab::clock_ms();
    }
    /// Forgets all commands; those that follow are not recorded.
    void stop() {
        zero_.reset();
        forget();
    }
    /// Before a command, whose end() follows.
    /// @param kind of kernel, whose time it counts as, with a name of rung 1; "copy" for a copy
    /// @param name in a timeline @param symbol '#' for a kernel that computes, '>' for what sends
    void begin(const char* kind, cudaStream_t stream, const char* name = "", char symbol = '#') {
        if (!zero_) return;
        commands_.push_back({name, kind, symbol, 0, 0, 0});
        events_.emplace_back().record(stream);
    }
    void end(cudaStream_t stream) {
        if (zero_) events_.emplace_back().record(stream);
    }
    /// @pre all commands have ended
    void add_to(gpulab::Timeline& timeline, int part) const {
        const auto us = [&](const gpulab::Event& e) { return host_us_ + 1e3 * gpulab::Event::ms_between(*zero_, e); };
        for (std::size_t k = 0; k < commands_.size(); ++k) {
            const gpulab::TraceEvent& c = commands_[k];
            timeline.add({c.name, c.kind == "copy" ? "copy" : "kernel", c.symbol, 2 * part + (c.symbol == '#' ? 0 : 1),
                          us(events_[2 * k]), us(events_[2 * k + 1])});
        }
    }
    /// Adds the time of every kernel to that of its kind, and forgets all commands. @pre all commands have ended
    void collect() {
        for (std::size_t k = 0; k < commands_.size(); ++k)
            if (commands_[k].kind != "copy")
                ms_[commands_[k].kind] += gpulab::Event::ms_between(events_[2 * k], events_[2 * k + 1]);
        forget();
    }
    /// The time of each kind, of the commands that have been collected.
    const std::map<std::string, double>& ms() const { return ms_; }

private:
    void forget() {
        commands_.clear();
        events_.clear();
    }
    std::optional<gpulab::Event> zero_;
    double host_us_ = 0;
    std::deque<gpulab::TraceEvent> commands_; // without their times, which are known when they have ended
    std::deque<gpulab::Event> events_;        // two for each
    std::map<std::string, double> ms_;
};

} // namespace cg
