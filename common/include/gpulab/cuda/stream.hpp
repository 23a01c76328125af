/// @file
/// CUDA streams and events that free themselves.
#pragma once

#include <cuda_runtime_api.h>

#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/handle.hpp"

namespace gpulab {

/// A CUDA stream that does not wait for the legacy default stream. Move-only.
class Stream : public detail::Handle<cudaStream_t, cudaStreamDestroy> {
public:
    /// Which of two streams comes first when blocks of both could start. A block that runs is not interrupted.
    enum class Priority { normal, high };

    Stream() { CUDA_CHECK(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking)); }
    /// A stream of this priority.
    explicit Stream(Priority priority) {
        int least = 0, greatest = 0; // the smaller number comes first
        CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
        CUDA_CHECK(cudaStreamCreateWithPriority(&handle_, cudaStreamNonBlocking,
                                                priority == Priority::high ? greatest : least));
    }
    void synchronize() const { CUDA_CHECK(cudaStreamSynchronize(handle_)); }
};

/// A point in a stream, whose time the device records. Move-only.
class Event : public detail::Handle<cudaEvent_t, cudaEventDestroy> {
public:
    /// @param flags cudaEventDefault, or cudaEventDisableTiming for events that only order
    explicit Event(unsigned flags = cudaEventDefault) { CUDA_CHECK(cudaEventCreateWithFlags(&handle_, flags)); }
    /// Puts this point behind all work that the stream holds now.
    void record(cudaStream_t stream) { CUDA_CHECK(cudaEventRecord(handle_, stream)); }
    void synchronize() const { CUDA_CHECK(cudaEventSynchronize(handle_)); }

    /// Milliseconds from one event to another. @pre both recorded and reached
    static double ms_between(const Event& begin, const Event& end) {
        float ms = 0;
        CUDA_CHECK(cudaEventElapsedTime(&ms, begin, end));
        return ms;
    }
};

} // namespace gpulab
