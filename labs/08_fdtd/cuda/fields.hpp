/// @file
/// A field in device memory: what the host half of every CUDA rung copies in, restores before each run, and copies
/// out.
#pragma once

#include "fdtd.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"

namespace fdtd {

/// The arrays of one field on the device.
template <class T> struct FieldBuffers {
    gpulab::DeviceBuffer<T> u, p, q, v;

    explicit FieldBuffers(const Fields<T>& host) : u(host.u), p(host.p), q(host.q), v(host.v) {}
    /// A field to be computed. No kernel writes the elements that hold no number, and copy_to() copies whole arrays; so
    /// they are set here. Those that hold a number are left to the kernels, and a tool for uninitialised memory finds
    /// one that a kernel forgets.
    explicit FieldBuffers(const Problem<T>& problem)
        : u(problem.array_size()), p(problem.array_size()), q(problem.array_size()), v(problem.layered_size()) {
        const Rules<T>& r = problem.rules;
        const auto fill = [&](gpulab::DeviceBuffer<T>& buffer, int x0, int y0, int x1, int y1) {
            if (buffer.size() == 0 || x0 >= x1 || y0 >= y1) return;
            const auto width = static_cast<std::size_t>(x1 - x0) * sizeof(T);
            CUDA_CHECK(cudaMemset2D(buffer.data() + std::size_t(y0) * r.pitch + x0, r.pitch * sizeof(T), 0xFF, width,
                                    static_cast<std::size_t>(y1 - y0))); // NaN
        };
        for (auto* cells : {&u, &q, &v}) fill(*cells, 0, r.ny, r.pitch, r.ny + 1); // they have one row less than P
        for (auto* cells : {&u, &p, &v}) fill(*cells, r.nx, 0, r.pitch, r.ny + 1); // and these one column less than Q
        fill(q, r.nx + 1, 0, r.pitch, r.ny);
        fill(v, r.inner.x0, r.inner.y0, r.inner.x1, r.inner.y1);
        CUDA_CHECK(cudaDeviceSynchronize()); // a non-blocking stream would not wait for these fills
    }

    FieldPointers<T> pointers() { return {u.data(), p.data(), q.data(), v.data()}; }
    void copy_to(Fields<T>& host) const { u.copy_to(host.u), p.copy_to(host.p), q.copy_to(host.q), v.copy_to(host.v); }
};

/// Copies a field within the device.
template <class T> void copy_async(const FieldBuffers<T>& from, FieldBuffers<T>& to, cudaStream_t stream) {
    gpulab::copy_async(from.u, to.u, stream), gpulab::copy_async(from.p, to.p, stream);
    gpulab::copy_async(from.q, to.q, stream), gpulab::copy_async(from.v, to.v, stream);
}

} // namespace fdtd
