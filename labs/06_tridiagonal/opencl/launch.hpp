/// @file
/// What the OpenCL rungs share: the problem and the answer in device memory.
#pragma once

#include <string>

#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/real.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal {

/// a, b, c and d of all systems, one system after the other.
template <class T> struct ClProblem {
    explicit ClProblem(const Problem<T>& p)
        : n(static_cast<cl_uint>(p.n)), systems(static_cast<cl_uint>(p.systems)), a(p.a), b(p.b), c(p.c), d(p.d) {}

    cl_uint n, systems;
    gpulab::ClBuffer<T> a, b, c, d;
};

/// What a kernel writes.
template <class T> struct ClOutput {
    explicit ClOutput(const Problem<T>& p) : x(p.size()), zero_pivot(p.systems) {}
    void copy_to(Output<T>& out) const {
        x.copy_to(out.x);
        zero_pivot.copy_to(out.zero_pivot);
    }

    gpulab::ClBuffer<T> x;
    gpulab::ClBuffer<std::int32_t> zero_pivot;
};

/// Poisons both; see gpulab::poisoning().
template <class T> void poison(const ClOutput<T>& out, const cl::CommandQueue& queue) {
    out.x.poison_async(queue);
    out.zero_pivot.poison_async(queue);
}

/// @throws Unsupported when a group of the current device has less local memory
inline void check_local_memory(std::size_t bytes) {
    const auto most = static_cast<std::size_t>(gpulab::opencl().device().getInfo<CL_DEVICE_LOCAL_MEM_SIZE>());
    if (bytes + 64 > most) // the kernels have a few bytes of their own
        throw gpulab::Unsupported("a system takes " + std::to_string(bytes) +
                                  " bytes of local memory, and a group of this device has " + std::to_string(most));
}

} // namespace tridiagonal
