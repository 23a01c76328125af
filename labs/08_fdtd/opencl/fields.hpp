/// @file
/// A field on an OpenCL device: what the host half of every rung copies in, restores before each run, and copies out.
#pragma once

#include <fmt/format.h>

#include "book.hpp"
#include "gpulab/opencl/timing.hpp"

namespace fdtd {

/// The arrays of one field.
template <class T> struct ClFields {
    gpulab::ClBuffer<T> u, p, q, v;

    /// A field to be computed, of so many numbers in each array.
    explicit ClFields(std::size_t numbers, std::size_t layered = 0) : u(numbers), p(numbers), q(numbers), v(layered) {}
    explicit ClFields(const Fields<T>& host) : u(host.u), p(host.p), q(host.q), v(host.v) {}
    void copy_to(Fields<T>& host) const { u.copy_to(host.u), p.copy_to(host.p), q.copy_to(host.q), v.copy_to(host.v); }
};

/// Copies a field within the device.
template <class T> void copy(const ClFields<T>& from, const ClFields<T>& to, const cl::CommandQueue& queue) {
    const auto one = [&](const gpulab::ClBuffer<T>& a, const gpulab::ClBuffer<T>& b) {
        if (a.size() > 0) queue.enqueueCopyBuffer(a.data(), b.data(), 0, 0, a.bytes());
    };
    one(from.u, to.u);
    one(from.p, to.p);
    one(from.q, to.q);
    one(from.v, to.v);
}

/// Groups of 64 x 4 work-items that cover columns x rows of a grid.
struct Groups {
    static constexpr std::size_t x = 64, y = 4;
    /// @throws gpulab::Unsupported where the device does not take groups of this size for the kernel
    Groups(const cl::Kernel& kernel, std::size_t columns, std::size_t rows, Stopwatch& watch)
        : global(gpulab::round_up(columns, x), gpulab::round_up(rows, y)) {
        if (x * y > gpulab::opencl().max_work_group(kernel))
            throw gpulab::Unsupported(fmt::format("a group of {} work-items is more than {} takes", x * y,
                                                  gpulab::opencl().description().name));
        watch.tile(x, "nx");
        watch.tile(y, "ny");
    }
    cl::NDRange local{x, y}, global;
};

} // namespace fdtd
