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

/// Independent chains of multiply-adds, eight vectors of four in each work-item, so that a CPU has wide work per item
/// as well: chain j of an item begins with the item's local id plus j / 4, and each step makes x to 0.999 x + 0.001.
class OpenClMultiplyAdds {
public:
    static constexpr int chains = 32;

    /// @param kind fp32 or fp64 @param steps of each chain
    /// @param keep store the sum of each item's chains in `sums`, which otherwise has one element that stays as it is
    OpenClMultiplyAdds(const Device& device, Arithmetic kind, int steps, bool keep = false);

    void run(const cl::CommandQueue& queue, ClEvents& events);
    std::size_t items() const { return items_; }
    std::size_t group() const { return group_; } ///< items of a work-group
    /// What one run computes: a multiply-add is two operations.
    double flops() const { return 2.0 * chains * steps_ * static_cast<double>(items_); }

private:
    std::size_t group_, items_;
    int steps_;

public:
    ClBuffer<unsigned char> sums; ///< floats or doubles

private:
    cl::Kernel kernel_;
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
double opencl_gflop_per_s(const Device& device, Arithmetic kind, int steps, const QueueTimer& timing);

} // namespace gpulab::detail
