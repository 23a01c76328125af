/// @file
/// Kernel time on an OpenCL device, by the profiling events of its queue.
#pragma once

#include <deque>
#include <functional>

#include "gpulab/opencl/context.hpp"
#include "gpulab/stopwatch.hpp"

namespace gpulab {

/// The events of the commands in one timed run.
class ClEvents {
public:
    /// A place for the event of the next command: pass it as the last argument of an enqueue call.
    cl::Event* add() { return &events_.emplace_back(); }

    /// Milliseconds from the start of the first command to the end of the last. @pre all are complete
    double elapsed_ms() const;

    bool empty() const { return events_.empty(); }

private:
    std::deque<cl::Event> events_; // a deque, so that pointers stay valid
};

/// Evicts a device's last-level cache by filling a scratch buffer twice its size.
void flush_l2(OpenClContext& context);

/// Runs `body(queue, events)` warmup() times untimed and repeats() times timed, on the current device.
/// @param body enqueues its commands, each with `events.add()`; the time runs from the first to the last of them
/// @param reset poisons what body computes and restores what it overwrites, in the same queue; runs untimed before
///        each body: `poisoning(out)`
/// @throws cl::Error for a command that failed
template <class Body>
void watch_queue(Stopwatch& watch, Body&& body, const std::function<void(const cl::CommandQueue&)>& reset = {}) {
    OpenClContext& context = opencl();
    const cl::CommandQueue& queue = context.queue();
    const auto once = [&](bool timed) {
        if (reset) reset(queue);
        if (timed && watch.flush_l2()) flush_l2(context);
        ClEvents events;
        body(queue, events);
        queue.finish();
        if (timed) watch.record(events.elapsed_ms());
    };
    watch.start();
    if (reset) watch.notes_reset();
    for (int i = 0; i < watch.warmup(); ++i) once(false);
    while (watch.wants_more()) once(true);
}

} // namespace gpulab
