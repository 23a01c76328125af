/// @file
/// How the ceilings of an OpenCL device are measured: the commands and what they amount to, apart from the clock, so
/// that tests can count both. Inside the common library only.
#pragma once

#include <functional>

#include "backends.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"

namespace gpulab::detail {

/// A large array copied to another in two ways: by the driver's copy command, and by a kernel, because a CPU driver may
/// copy with one thread only.
class OpenClCopy {
public:
    /// @param bytes of the array, a multiple of 16
    explicit OpenClCopy(std::size_t bytes);

    void by_driver(const cl::CommandQueue& queue, ClEvents& events);
    void by_kernel(const cl::CommandQueue& queue, ClEvents& events);
    /// What one copy moves: every byte is read and written.
    double bytes_moved() const { return 2.0 * static_cast<double>(from.bytes()); }
    std::size_t group() const { return group_; } ///< items of a work-group of the kernel

    ClBuffer<char> from, to;

private:
    cl::Kernel kernel_;
    std::size_t group_;
};

/// Runs commands several times and gives their times.
using QueueTimer = std::function<Timing(const std::function<void(const cl::CommandQueue&, ClEvents&)>&)>;

/// Two runs that do not count, then five that do: how the ceilings are timed.
Timing five_runs(const std::function<void(const cl::CommandQueue&, ClEvents&)>& body);

/// Bytes of the array that is copied: 256 MiB on a CPU, 1 GiB on a GPU, or less where the device has little memory.
/// @param most bytes that a single buffer may have
std::size_t opencl_copy_bytes(const Device& device, std::size_t most);
/// Steps of the chains that are timed.
int opencl_steps(const Device& device);

double opencl_copy_gb_per_s(std::size_t bytes, const QueueTimer& timing);

/// Independent chains of multiply-adds in each work-item: eight vectors of four, so that a CPU has wide work as well.
inline constexpr int opencl_chains = 32;
std::size_t opencl_chain_group(const Device& device); ///< work-items of a group that compute them
std::size_t opencl_chain_items(const Device& device); ///< all of them

/// The rate of these chains: chain j of an item begins with the item's local id plus j / 4, and each step makes x to
/// 0.999 x + 0.001. A multiply-add is two operations.
/// @param kind fp32 or fp64 @param steps of each chain
/// @param sums floats or doubles: receives the sum of each item's chains; with room for one only, it stays as it is
double opencl_gflop_per_s(const Device& device, Arithmetic kind, int steps, const ClBuffer<unsigned char>& sums,
                          const QueueTimer& timing);

} // namespace gpulab::detail
