/// @file
/// A field on an OpenCL device: what the host half of every rung copies in, restores before each run, and copies out.
#pragma once

#include <fmt/format.h>

#include "fdtd.hpp"
#include "gpulab/error.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/real.hpp"
#include "gpulab/opencl/timing.hpp"

namespace fdtd {

/// The arrays of one field.
template <class T> struct ClFields {
    gpulab::ClBuffer<T> u, p, q, v;

    explicit ClFields(const Problem<T>& problem)
        : u(problem.array_size()), p(problem.array_size()), q(problem.array_size()), v(problem.layered_size()) {}
    explicit ClFields(const Fields<T>& host) : u(host.u), p(host.p), q(host.q), v(host.v) {}
    void copy_to(Fields<T>& host) const { u.copy_to(host.u), p.copy_to(host.p), q.copy_to(host.q), v.copy_to(host.v); }
};

/// Copies a field within the device.
template <class T> void copy(const ClFields<T>& from, const ClFields<T>& to, const cl::CommandQueue& queue) {
    const auto one = [&](const gpulab::ClBuffer<T>& a, const gpulab::ClBuffer<T>& b) {
        if (a.size() > 0) queue.enqueueCopyBuffer(a.data(), b.data(), 0, 0, a.bytes());
    };
    one(from.u, to.u), one(from.p, to.p), one(from.q, to.q), one(from.v, to.v);
}

/// Checks that the device takes groups of this size for the kernel.
inline void check_group(const cl::Kernel& kernel, std::size_t items) {
    if (items > gpulab::opencl().max_work_group(kernel))
        throw gpulab::Unsupported(
            fmt::format("a group of {} work-items is more than {} takes", items, gpulab::opencl().description().name));
}

} // namespace fdtd
