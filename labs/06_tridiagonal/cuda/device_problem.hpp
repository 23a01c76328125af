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

/// Lets a kernel use this much dynamic shared memory. Above 48 KiB a kernel must ask for it.
/// @throws Unsupported when a block of this device has less
template <class Kernel> void ask_for_shared_memory(Kernel kernel, std::size_t bytes) {
    int device = 0, most = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    cudaFuncAttributes attributes{};
    CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
    if (bytes + attributes.sharedSizeBytes > static_cast<std::size_t>(most))
        throw gpulab::Unsupported("a system takes " + std::to_string(bytes) +
                                  " bytes of shared memory, and a block of this device has " +
                                  std::to_string(static_cast<std::size_t>(most) - attributes.sharedSizeBytes));
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

} // namespace tridiagonal
