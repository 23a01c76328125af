/// @file
/// How the ceilings of a CUDA device are measured: the work and what it amounts to, apart from the clock, so that tests
/// can count both. Inside the common library only.
#pragma once

#include <cstddef>
#include <functional>

#include "backends.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/stopwatch.hpp"

namespace gpulab::detail {

/// Runs work several times and gives its times.
using StreamTimer = std::function<Timing(const std::function<void(cudaStream_t)>&)>;

/// The rate of copies to an array of the same length.
double cuda_copy_gb_per_s(const DeviceBuffer<char>& from, DeviceBuffer<char>& to, const StreamTimer& timing);

/// Independent chains of multiply-adds in each thread, all in registers, and threads in a block.
inline constexpr int cuda_chains = 8;
inline constexpr unsigned cuda_chain_block = 256; ///< see cuda_chains
/// All threads: those of 16 blocks for each multiprocessor of the current device.
std::size_t cuda_chain_threads();

/// The rate of these chains: chain j of a thread begins with the thread's index in its block plus j, and each step
/// replaces x by 0.999 x + 0.001. A multiply-add is two operations. @tparam T float or double
/// @param steps of each chain
/// @param sums receives the sum of each thread's chains; if it has one element only, this stays as it is
template <class T> double cuda_gflop_per_s(int steps, DeviceBuffer<T>& sums, const StreamTimer& timing);

} // namespace gpulab::detail
