/// @file
/// Kernel time on an OpenCL device, by the profiling events of its queue.
#pragma once

#include <deque>

#include "gpulab/math.hpp" // sizes of launches
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/context.hpp"
#include "gpulab/opencl/real.hpp"
#include "gpulab/stopwatch.hpp"

namespace gpulab {

/// The events of the commands in one timed run.
class ClEvents {
public:
    /// A place for the event of the next command: pass it as the last argument of an enqueue call.
    cl::Event* add() { return &events_.emplace_back(); }

    /// Milliseconds from the earliest start of a command to the latest end; 0 when there is none.
    /// @pre all are complete
    double elapsed_ms() const;

    bool empty() const { return events_.empty(); }

    /// The event of the flush before this run; null when there was none.
    const cl::Event& flush() const { return flush_; }
    void set_flush(const cl::Event& event) { flush_ = event; } ///< called by watch_queue()

private:
    std::deque<cl::Event> events_; // a deque, so that pointers stay valid
    cl::Event flush_;
};

/// Bytes that evict what a device's last-level cache holds: twice its size, at least 2 MiB.
std::size_t flush_bytes(const Device& device);

/// A buffer of flush_bytes().
cl::Buffer flush_buffer(OpenClContext& context);

/// Writes every byte of a buffer, and waits for it. @return the event of the fill command
cl::Event overwrite(OpenClContext& context, const cl::Buffer& buffer);

/// Evicts a device's last-level cache: overwrites a flush_buffer().
/// @return the event of the fill command
cl::Event flush_l2(OpenClContext& context);

/// Enqueues a kernel: the launch.
/// @param global work-items in each dimension, a multiple of those of a group
/// @param local  work-items of a group
/// @param event  `events.add()`, so that the time of this launch counts; none for nullptr
inline void enqueue(const cl::CommandQueue& queue, const cl::Kernel& kernel, const cl::NDRange& global,
                    const cl::NDRange& local, cl::Event* event) {
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, event);
}

/// Runs `body(queue, events)` warmup() times untimed and repeats() times timed, on the current device. Where the
/// stopwatch asks for it, the last-level cache is flushed before every timed run.
/// @param body enqueues its commands, each with `events.add()`; the time runs from the first to the last of them
/// @param reset poisons what body computes and restores what it overwrites, in the same queue; runs untimed before
///        each body: `poisoning(out)`
/// @throws cl::Error for a command that failed
template <class Body, class Reset = NoReset> void watch_queue(Stopwatch& watch, Body&& body, Reset&& reset = {}) {
    OpenClContext& context = opencl();
    const cl::CommandQueue& queue = context.queue();
    const auto once = [&](bool timed) {
        reset(queue);
        ClEvents events;
        if (timed && watch.flush_l2()) events.set_flush(flush_l2(context));
        if (!timed || !watch.leaves_out_body()) body(queue, events);
        queue.finish();
        if (timed) watch.record(events.elapsed_ms());
    };
    watch.start();
    if (is_reset<Reset>) watch.notes_reset();
    for (int i = 0; i < watch.warmup(); ++i) once(false);
    while (watch.wants_more()) once(true);
}

/// watch_queue() for a computation that is one launch of a kernel. @param kernel its arguments are set
template <class Reset = NoReset>
void watch_kernel(Stopwatch& watch, const cl::Kernel& kernel, const cl::NDRange& global, const cl::NDRange& local,
                  Reset&& reset = {}) {
    const auto body = [&](const cl::CommandQueue& queue, ClEvents& events) {
        enqueue(queue, kernel, global, local, events.add());
    };
    watch_queue(watch, body, std::forward<Reset>(reset));
}

} // namespace gpulab
