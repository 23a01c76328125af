/// @file
/// What the OpenCL rungs of this lab share: queues, host memory, a recorder of commands, and timed passes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/context.hpp"
#include "streams.hpp"

namespace streams {

/// A new in-order queue on the current device.
/// @param profiling whether the device records when each of its commands begins and ends
inline cl::CommandQueue new_queue(bool profiling = false) {
    return cl::CommandQueue(gpulab::opencl().context(), gpulab::opencl().device(),
                            profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
}

/// Host memory that the driver allocates and that stays mapped as long as this object lives. For a GPU, drivers
/// page-lock it.
class HostMemory {
public:
    explicit HostMemory(std::size_t n)
        : size_(n), buffer_(gpulab::opencl().context(), CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, n),
          data_(gpulab::opencl().queue().enqueueMapBuffer(buffer_, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, n)) {}
    ~HostMemory() {
        try {
            gpulab::opencl().queue().enqueueUnmapMemObject(buffer_, data_);
            gpulab::opencl().queue().finish();
        } catch (const cl::Error&) { // destructors do not throw
        }
    }
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;
    unsigned char* data() const { return static_cast<unsigned char*>(data_); }
    std::span<unsigned char> span() const { return {data(), size_}; }

private:
    std::size_t size_;
    cl::Buffer buffer_;
    void* data_;
};

/// When it is on, gives each command an event and makes a timeline of the profiling times. When it is off it does
/// nothing, so the timed passes run without events and without profiling.
class ClRecorder {
public:
    explicit ClRecorder(bool on) : on_(on) {}
    /// The queue to use: this one, or, when the recorder is on, another one in its place that has profiling.
    const cl::CommandQueue& queue(const cl::CommandQueue& plain) {
        if (!on_) return plain;
        cl::CommandQueue& profiling = profiling_[plain()];
        if (!profiling()) profiling = new_queue(true);
        return profiling;
    }
    cl::Event* up(std::size_t strip, std::size_t lane) { return add("copy up", '>', strip, lane); }
    cl::Event* kernel(std::size_t strip, std::size_t lane) { return add("kernel", '#', strip, lane); }
    cl::Event* down(std::size_t strip, std::size_t lane) { return add("copy down", '<', strip, lane); }
    /// Forgets the pass but keeps its queues, so that the next pass need not create them.
    void restart() { marks_.clear(); }
    /// @pre all commands are complete
    gpulab::Timeline timeline() const {
        gpulab::Timeline t("queue");
        for (const Mark& m : marks_)
            t.add({"strip " + std::to_string(m.strip), m.kind, m.symbol, static_cast<int>(m.lane),
                   1e-3 * static_cast<double>(m.event.getProfilingInfo<CL_PROFILING_COMMAND_START>()),
                   1e-3 * static_cast<double>(m.event.getProfilingInfo<CL_PROFILING_COMMAND_END>())});
        return t; // START is the time at which the device begins the command, so nothing needs correcting
    }

private:
    struct Mark {
        const char* kind;
        char symbol;
        std::size_t strip, lane;
        cl::Event event;
    };
    cl::Event* add(const char* kind, char symbol, std::size_t strip, std::size_t lane) {
        return on_ ? &marks_.emplace_back(Mark{kind, symbol, strip, lane, {}}).event : nullptr;
    }
    bool on_;
    std::deque<Mark> marks_; // a deque, so that pointers stay valid
    std::map<cl_command_queue, cl::CommandQueue> profiling_;
};

/// Times `pass(recorder)` by the host's steady clock, then runs it twice with the recorder on, for the timeline.
/// Before each pass all its memory except the image on the host is poisoned, so that no pass can use a result or an
/// uploaded strip of an earlier one. Poisoning, the recorded passes and the comparison count neither as part of a pass
/// nor in the total time.
/// @param pass enqueues all commands and returns when the last byte is in host_out
/// @param in,results the device buffers of the pass: copies of the strips, and their results
/// @param host_out where the pass leaves its result; copied to out.pixels unless it is out.pixels
/// @throws WrongResult when the recorded pass gives a result different from the timed one
template <class Pass>
void watch_passes(Stopwatch& watch, Output& out, std::vector<gpulab::ClBuffer<unsigned char>>& in,
                  std::vector<gpulab::ClBuffer<unsigned char>>& results, std::span<unsigned char> host_out,
                  const Pass& pass) {
    const cl::CommandQueue& queue = gpulab::opencl().queue();
    const auto reset = [&] {
        std::memset(host_out.data(), gpulab::poison_byte_for<unsigned char>(), host_out.size());
        gpulab::poisoning(in, results)(queue);
        queue.finish();
    };
    ClRecorder off(false);
    watch.time([&] { pass(off); }, [&] { watch.leave_out(reset); });
    if (host_out.data() != out.pixels.data()) out.pixels.assign(host_out.begin(), host_out.end());

    watch.leave_out([&] {
        const std::vector<unsigned char> timed = out.pixels;
        reset();
        ClRecorder on(true);
        pass(on); // creates the queues with profiling
        reset();
        on.restart();
        const auto begin = std::chrono::steady_clock::now();
        pass(on);
        out.traced_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        out.timeline = on.timeline();
        if (!std::equal(timed.begin(), timed.end(), host_out.begin()))
            throw gpulab::WrongResult("two passes over the same image gave different results");
        out.pixels = timed;
    });
}

} // namespace streams
