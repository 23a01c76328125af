/// @file
/// The reset that poisons what a kernel is about to compute.
#pragma once

#include <vector>

#include "gpulab/poison.hpp"

namespace gpulab {

/// Poisons each of a list of buffers; see poisoning().
template <class Buffer, class StreamOrQueue>
void poison(std::vector<Buffer>& buffers, const StreamOrQueue& stream_or_queue) {
    for (Buffer& buffer : buffers) poison(buffer, stream_or_queue);
}

/// A reset for Stopwatch::time(), watch_stream() and watch_queue(): poisons each of the buffers before every run, in
/// the run's own stream or queue, so that no earlier result can pass for that of this run. A kernel that works in its
/// first run only, or that builds on a partial result of the run before, then gives NaN instead of a right answer.
/// @param buffers outputs and intermediate results: std::vector on the CPU, DeviceBuffer or PinnedBuffer for CUDA,
///        ClBuffer for OpenCL; or std::vector of such buffers. The reset refers to them: they must outlive it
template <class... Buffers> auto poisoning(Buffers&... buffers) {
    return [&buffers...](const auto&... stream_or_queue) { (poison(buffers, stream_or_queue...), ...); };
}

} // namespace gpulab
