/// @file
/// When the commands of a GPU ran, and how long each kind of kernel took.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "gpulab/cuda/stream.hpp"
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
        host_us_ =
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    /// Forgets all commands; those that follow are not recorded.
    void stop() {
        zero_.reset();
        marks_.clear();
    }
    /// Before a command, whose end() follows.
    /// @param kind of kernel, whose time it counts as, with a name of rung 1; "copy" for a copy
    /// @param name in a timeline @param symbol '#' for a kernel that computes, '>' for what sends
    void begin(const char* kind, cudaStream_t stream, const char* name = "", char symbol = '#') {
        if (!zero_) return;
        Mark& mark = marks_.emplace_back();
        mark.kind = kind, mark.name = name, mark.symbol = symbol;
        mark.begin.record(stream);
    }
    void end(cudaStream_t stream) {
        if (zero_) marks_.back().end.record(stream);
    }
    /// @pre all commands have ended
    void add_to(gpulab::Timeline& timeline, int part) const {
        for (const Mark& m : marks_)
            timeline.add({m.name, m.kind == "copy" ? "copy" : "kernel", m.symbol, 2 * part + (m.symbol == '#' ? 0 : 1),
                          host_us_ + 1e3 * gpulab::Event::ms_between(*zero_, m.begin),
                          host_us_ + 1e3 * gpulab::Event::ms_between(*zero_, m.end)});
    }
    /// Adds the time of every kernel to that of its kind, and forgets all commands. @pre all commands have ended
    void collect() {
        for (const Mark& m : marks_)
            if (m.kind != "copy") ms_[m.kind] += gpulab::Event::ms_between(m.begin, m.end);
        marks_.clear();
    }
    /// The time of each kind, of the commands that have been collected.
    const std::map<std::string, double>& ms() const { return ms_; }

private:
    struct Mark {
        std::string kind, name;
        char symbol = '#';
        gpulab::Event begin, end;
    };
    std::optional<gpulab::Event> zero_;
    double host_us_ = 0;
    std::deque<Mark> marks_;
    std::map<std::string, double> ms_;
};

} // namespace cg
