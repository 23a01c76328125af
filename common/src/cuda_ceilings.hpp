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

/// A large array copied to another.
class CudaCopy {
public:
    explicit CudaCopy(std::size_t bytes) : from(bytes), to(bytes) {}

    /// Enqueues one copy; does not wait for it.
    void run(cudaStream_t stream);
    /// What one copy moves: every byte is read and written.
    double bytes_moved() const { return 2.0 * static_cast<double>(from.bytes()); }

    DeviceBuffer<char> from, to;
};

/// Independent chains of multiply-adds, eight in each thread, all in registers: chain j of a thread begins with the
/// thread's index in its block plus j, and each step replaces x by 0.999 x + 0.001. @tparam T float or double
template <class T> class CudaMultiplyAdds {
public:
    static constexpr int chains = 8;
    static constexpr unsigned block = 256; ///< threads; 16 blocks for each multiprocessor

    /// @param steps of each chain
    /// @param keep store the sum of each thread's chains in `sums`, which otherwise has one element that stays as it is
    explicit CudaMultiplyAdds(int steps, bool keep = false);

    /// Enqueues one run; does not wait for it.
    void run(cudaStream_t stream);
    std::size_t threads() const { return std::size_t{blocks_} * block; }
    /// What one run computes: a multiply-add is two operations.
    double flops() const { return 2.0 * chains * steps_ * static_cast<double>(threads()); }

private:
    unsigned blocks_;
    int steps_;
    bool keep_;

public:
    DeviceBuffer<T> sums;
};

/// Runs work several times and gives its times.
using StreamTimer = std::function<Timing(const std::function<void(cudaStream_t)>&)>;

double cuda_copy_gb_per_s(std::size_t bytes, const StreamTimer& timing);
/// @param kind fp32 or fp64
double cuda_gflop_per_s(Arithmetic kind, int steps, const StreamTimer& timing);

} // namespace gpulab::detail
