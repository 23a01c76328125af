/// @file
/// Timelines: commands with start and end, shown as lanes in the terminal, as a Chrome trace, and as the percentage
/// of overlap.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace gpulab {

/// One command of a timeline. Commands of one kind use the same resource (a copy engine, the multiprocessors).
struct TraceEvent {
    std::string name; ///< "strip 3"
    std::string kind; ///< "copy up", "kernel", "copy down", ...
    char symbol;      ///< the character that draws it in the terminal
    int lane;         ///< number of the stream or queue
    double begin_us;
    double end_us;
};

/// The commands of one run. Times are in microseconds from a common zero.
class Timeline {
public:
    /// Its lanes are called "stream 0", "stream 1", ...
    Timeline() = default;
    /// @param lane what a lane is called instead: "queue", for OpenCL
    explicit Timeline(std::string lane) : lane_(std::move(lane)) {}
    const std::string& lane() const { return lane_; }

    /// Appends a command; the order does not matter.
    void add(TraceEvent event) { events_.push_back(std::move(event)); }
    const std::vector<TraceEvent>& events() const { return events_; }
    bool empty() const { return events_.empty(); }
    void clear() { events_.clear(); }

    /// Corrects starts that were noted when a command was issued, not when its resource began to work on it (CUDA
    /// events): moves each start to the end of the command of the same kind that ended before it, if that is later.
    /// This is right for copy engines, which serve one copy at a time. Kernels of different streams may run together;
    /// here they are put one after the other as well.
    void serialise_kinds();

    /// The time from the first start to the last end, in microseconds.
    double span_us() const;

    /// The percentage of the busy time in which commands of two or more different kinds run at once.
    /// 0 for an empty timeline.
    double overlap_percent() const;

    /// One line per lane, `width` characters for the whole span. Where commands share a character, the later one is
    /// drawn.
    std::string lanes(std::size_t width = 96) const;

private:
    std::string lane_ = "stream";
    std::vector<TraceEvent> events_;
};

/// Several timelines in the Trace Event Format, which Perfetto and chrome://tracing open; each is a process with a
/// title.
std::string chrome_trace(const std::vector<std::pair<std::string, Timeline>>& timelines);

} // namespace gpulab
