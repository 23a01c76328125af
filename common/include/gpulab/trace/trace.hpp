/// @file
/// What ran when: commands with start and end, as lanes in the terminal, as a Chrome trace, and as percent of overlap.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace gpulab {

/// One command of a timeline. Commands of one kind share a resource (a copy engine, the multiprocessors).
struct TraceEvent {
    std::string name; ///< "strip 3"
    std::string kind; ///< "copy up", "kernel", "copy down", ...
    char symbol;      ///< how it is drawn in the terminal
    int lane;         ///< stream or queue
    double begin_us;
    double end_us;
};

/// The commands of one run, in microseconds from any common zero.
class Timeline {
public:
    /// Appends a command; the order does not matter.
    void add(TraceEvent event) { events_.push_back(std::move(event)); }
    const std::vector<TraceEvent>& events() const { return events_; }
    bool empty() const { return events_.empty(); }
    void clear() { events_.clear(); }

    /// A command counts from when its kind's resource is free: one that was handed over earlier only waited.
    /// Moves each start to the end of the command of the same kind that ended before it.
    /// For devices that serve each kind one at a time and note the time of handing over (CUDA events).
    void serialise_kinds();

    /// From the first start to the last end, in microseconds.
    double span_us() const;

    /// Of the time in which anything runs, the percentage in which two or more different kinds run at once.
    /// 0 when there is nothing in it.
    double overlap_percent() const;

    /// One line per lane, `width` characters for the whole span; where commands share a character, the later one shows.
    std::string lanes(std::size_t width = 96) const;

private:
    std::vector<TraceEvent> events_;
};

/// Several timelines, each a process with a title, in the Trace Event Format that Perfetto and chrome://tracing open.
std::string chrome_trace(const std::vector<std::pair<std::string, Timeline>>& timelines);

} // namespace gpulab
