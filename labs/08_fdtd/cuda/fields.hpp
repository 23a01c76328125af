/// @file
/// A field in device memory: what the host half of every CUDA rung copies in, restores before each run, and copies
/// out.
#pragma once

#include "book.hpp"
#include "gpulab/cuda/timing.hpp"

namespace fdtd {

/// The arrays of one field on the device.
template <class T> struct FieldBuffers {
    gpulab::DeviceBuffer<T> u, p, q, v;

    explicit FieldBuffers(const Fields<T>& host) : u(host.u), p(host.p), q(host.q), v(host.v) {}
    /// A field to be computed. No kernel writes the elements that hold no number, and copy_to() copies whole arrays; so
    /// they are set here. Those that hold a number are left to the kernels, and a tool for uninitialised memory finds
    /// one that a kernel forgets.
    /// @param layered numbers of v
    FieldBuffers(int nx, int ny, int pitch, std::size_t layered = 0)
        : u(std::size_t(pitch) * (ny + 1)), p(u.size()), q(u.size()), v(layered) {
        for (auto* cells : {&u, &q, &v}) fill(*cells, pitch, 0, ny, pitch, ny + 1); // they have one row less than P
        for (auto* cells : {&u, &p, &v}) fill(*cells, pitch, nx, 0, pitch, ny + 1); // and these one column less than Q
        fill(q, pitch, nx + 1, 0, pitch, ny);
    }
    /// Sets columns x0 ... x1 - 1 of rows y0 ... y1 - 1 to NaN.
    static void fill(gpulab::DeviceBuffer<T>& buffer, int pitch, int x0, int y0, int x1, int y1) {
        if (buffer.size() == 0 || x0 >= x1 || y0 >= y1) return;
        const auto width = static_cast<std::size_t>(x1 - x0) * sizeof(T);
        CUDA_CHECK(cudaMemset2D(buffer.data() + std::size_t(y0) * pitch + x0, pitch * sizeof(T), 0xFF, width,
                                static_cast<std::size_t>(y1 - y0)));
        CUDA_CHECK(cudaDeviceSynchronize()); // a non-blocking stream would not wait for this
    }

    void copy_to(Fields<T>& host) const { u.copy_to(host.u), p.copy_to(host.p), q.copy_to(host.q), v.copy_to(host.v); }
};

/// Copies a field within the device.
template <class T> void copy_async(const FieldBuffers<T>& from, FieldBuffers<T>& to, cudaStream_t stream) {
    gpulab::copy_async(from.u, to.u, stream);
    gpulab::copy_async(from.p, to.p, stream);
    gpulab::copy_async(from.q, to.q, stream);
    gpulab::copy_async(from.v, to.v, stream);
}

} // namespace fdtd
