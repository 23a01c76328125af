/// @file
/// When the commands of a GPU's part ran.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "gpulab/cuda/stream.hpp"
#include "gpulab/trace/trace.hpp"

namespace cg {

/// The commands of one part with the times at which they ran; off at first. Devices have clocks of their own: each is
/// compared with the host's once, when the device is idle.
class GpuTrace {
public:
    void start(cudaStream_t stream) {
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
    /// @param symbol '#' for a kernel that computes, '>' for what sends
    void begin(const char* name, const char* kind, char symbol, cudaStream_t stream) {
        if (!zero_) return;
        Mark& mark = marks_.emplace_back();
        mark.name = name, mark.kind = kind, mark.symbol = symbol;
        mark.begin.record(stream);
    }
    void end(cudaStream_t stream) {
        if (zero_) marks_.back().end.record(stream);
    }
    /// @pre all commands have ended
    void add_to(gpulab::Timeline& timeline, int part) const {
        for (const Mark& m : marks_)
            timeline.add({m.name, m.kind, m.symbol, 2 * part + (m.symbol == '#' ? 0 : 1),
                          host_us_ + 1e3 * gpulab::Event::ms_between(*zero_, m.begin),
                          host_us_ + 1e3 * gpulab::Event::ms_between(*zero_, m.end)});
    }
    /// Adds the time of every kernel to that of its kind, and forgets all commands. The kinds have the names of rung 1,
    /// and of these kernels most do the work of two: spmv computes p . q too, next_r the sums of r, next_x also p.
    /// @pre all commands have ended
    void add_to(std::map<std::string, double>& ms) {
        static const std::map<std::string, const char*> kinds = {
            {"collect", "pack"},     {"send", "pack"},    {"first residual", "spmv"}, {"inner rows", "spmv"},
            {"border rows", "spmv"}, {"product", "spmv"}, {"residual", "next_r"},     {"next x and p", "next_x"}};
        for (const Mark& m : marks_)
            if (m.kind == std::string("kernel")) ms[kinds.at(m.name)] += gpulab::Event::ms_between(m.begin, m.end);
        marks_.clear();
    }

private:
    struct Mark {
        const char* name = "";
        const char* kind = "";
        char symbol = '#';
        gpulab::Event begin, end;
    };
    std::optional<gpulab::Event> zero_;
    double host_us_ = 0;
    std::deque<Mark> marks_;
};

} // namespace cg
