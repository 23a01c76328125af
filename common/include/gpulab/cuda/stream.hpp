/// @file
/// CUDA streams and events that free themselves.
#pragma once

#include <cuda_runtime_api.h>
#include <utility>

#include "gpulab/cuda/check.hpp"

namespace gpulab {

/// A CUDA stream that does not wait for the legacy default stream. Move-only.
class Stream {
public:
    /// Which of two streams comes first when blocks of both could start. A block that runs is not interrupted.
    enum class Priority { normal, high };

    Stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    /// A stream of this priority.
    explicit Stream(Priority priority) {
        int least = 0, greatest = 0; // the smaller number comes first
        CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                                priority == Priority::high ? greatest : least));
    }
    ~Stream() {
        if (stream_) cudaStreamDestroy(stream_);
    }
    Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
    Stream& operator=(Stream&& other) noexcept {
        std::swap(stream_, other.stream_);
        return *this;
    }

    operator cudaStream_t() const { return stream_; }
    void synchronize() const { CUDA_CHECK(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
};

/// A point in a stream, whose time the device records. Move-only.
class Event {
public:
    /// @param flags cudaEventDefault, or cudaEventDisableTiming for events that only order
    explicit Event(unsigned flags = cudaEventDefault) { CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags)); }
    ~Event() {
        if (event_) cudaEventDestroy(event_);
    }
    Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    Event& operator=(Event&& other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }

    operator cudaEvent_t() const { return event_; }
    /// Puts this point behind all work that the stream holds now.
    void record(cudaStream_t stream) { CUDA_CHECK(cudaEventRecord(event_, stream)); }
    void synchronize() const { CUDA_CHECK(cudaEventSynchronize(event_)); }

    /// Milliseconds from one event to another. @pre both recorded and reached
    static double ms_between(const Event& begin, const Event& end) {
        float ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
        return ms;
    }

private:
    cudaEvent_t event_ = nullptr;
};

} // namespace gpulab
