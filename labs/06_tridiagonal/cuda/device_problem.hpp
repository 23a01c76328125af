/// @file
/// The problem and the answer in device memory: what the CUDA rungs copy in and out.
#pragma once

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal {

/// a, b, c and d of all systems, one system after the other.
template <class T> struct DeviceProblem {
    explicit DeviceProblem(const Problem<T>& p)
        : n(static_cast<unsigned>(p.n)), systems(static_cast<unsigned>(p.systems)), a(p.a), b(p.b), c(p.c), d(p.d) {}

    unsigned n, systems;
    gpulab::DeviceBuffer<T> a, b, c, d;
};

/// What a kernel writes.
template <class T> struct DeviceOutput {
    explicit DeviceOutput(const Problem<T>& p) : x(p.size()), zero_pivot(p.systems) {}
    void copy_to(Output<T>& out) const {
        x.copy_to(out.x);
        zero_pivot.copy_to(out.zero_pivot);
    }

    gpulab::DeviceBuffer<T> x;
    gpulab::DeviceBuffer<std::int32_t> zero_pivot;
};

/// Poisons both; see gpulab::poisoning().
template <class T> void poison(DeviceOutput<T>& out, cudaStream_t stream) {
    out.x.poison_async(stream);
    out.zero_pivot.poison_async(stream);
}

/// The refusal of a variant that keeps a system in one block.
inline gpulab::Unsupported too_many_unknowns(std::size_t n, unsigned most) {
    return gpulab::Unsupported(std::to_string(n) + " unknowns are more than a block of this variant solves, " +
                               std::to_string(most));
}

} // namespace tridiagonal
