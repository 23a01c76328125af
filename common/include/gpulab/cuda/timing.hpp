/// @file
/// Kernel time on a CUDA device, by events in the kernel's own stream.
#pragma once

#include <optional>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/stream.hpp"
#include "gpulab/math.hpp" // sizes of launches
#include "gpulab/stopwatch.hpp"
#include "gpulab/test_hooks.hpp"

namespace gpulab {

/// Overwrites a scratch array twice as large as the L2 cache, so that the next kernel finds the cache cold.
class L2Flusher {
public:
    L2Flusher();
    /// Enqueues the overwrite in a stream; does not wait for it.
    void flush(cudaStream_t stream);

private:
    DeviceBuffer<unsigned char> scratch_;
};

/// Keeps a stream busy for this number of milliseconds, as a kernel would; does not wait for it.
void delay(cudaStream_t stream, int ms);

/// Runs `body(stream)` warmup() times untimed and repeats() times between two events.
/// Every launch in it is checked, and the stream is empty again when this returns.
/// @param body launches kernels and copies into the stream it is given, and does not wait for them
/// @param reset poisons what body computes and restores what it overwrites, in the same stream; runs untimed before
///        each body: `poisoning(out)`
/// @throws CudaError for a launch that failed or a kernel that crashed
template <class Body, class Reset = NoReset> void watch_stream(Stopwatch& watch, Body&& body, Reset&& reset = {}) {
    Stream stream;
    Event begin, end;
    std::optional<L2Flusher> flusher;
    if (watch.flush_l2()) flusher.emplace();
    const auto prepare = [&] {
        if (watch.hooks && watch.hooks->reset_delay_ms > 0) delay(stream, watch.hooks->reset_delay_ms);
        reset(static_cast<cudaStream_t>(stream));
    };
    watch.start();
    if (is_reset<Reset>) watch.notes_reset();
    for (int i = 0; i < watch.warmup(); ++i) {
        prepare();
        body(static_cast<cudaStream_t>(stream));
        CUDA_CHECK_LAUNCH();
    }
    stream.synchronize();
    while (watch.wants_more()) {
        prepare();
        if (flusher) flusher->flush(stream);
        begin.record(stream);
        if (!watch.leaves_out_body()) body(static_cast<cudaStream_t>(stream));
        CUDA_CHECK_LAUNCH();
        end.record(stream);
        end.synchronize();
        watch.record(Event::ms_between(begin, end));
    }
}

} // namespace gpulab
