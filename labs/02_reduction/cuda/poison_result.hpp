/// @file
/// What every prefix sum on a CUDA device does before each run, untimed.
#pragma once

#include <algorithm>

#include "gpulab/cuda/buffer.hpp"

namespace reduction {

/// Whether poison_result() poisons all of it. For tests, where the time does not matter.
inline bool poisons_whole_result = false;

/// Poisons the last 1024 places of a result, so that a run that does nothing, because an earlier one has used up the
/// tickets, cannot pass off that one's sums as its own. All of a large result would leave the L2 full of lines that
/// the run to be timed would have to write back.
template <class T> void poison_result(gpulab::DeviceBuffer<T>& result, cudaStream_t stream) {
    if (!gpulab::poisons()) return;
    const std::size_t places = poisons_whole_result ? result.size() : std::min<std::size_t>(result.size(), 1024);
    CUDA_CHECK(cudaMemsetAsync(result.data() + (result.size() - places), gpulab::poison_byte_for<T>(),
                               places * sizeof(T), stream));
}

} // namespace reduction
