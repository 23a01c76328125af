/// @file
/// Any scene on an OpenCL device: what the host half of opencl_scene and of the rungs after it have in common.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <string>

#include "fdtd.hpp"
#include "fields.hpp"
#include "yee.cl.hpp"

namespace fdtd {

/// Media, layers, sources and records of a problem on the device, and kernels built for it.
template <class T> class ClProblem {
public:
    explicit ClProblem(const Problem<T>& p)
        : rules_(std::vector<Rules<T>>{p.rules}), map_(p.map), table_(p.table), layers_(p.layers), values_(p.values),
          strengths_(p.strengths), patches_(p.patches), probes_(p.probes), recorded(p.recorded_size()) {
        if (sizeof(T) == 8 && !gpulab::opencl().description().fp64)
            throw gpulab::Unsupported(gpulab::opencl().description().name + " has no double precision");
        options_ =
            fmt::format("{} -DMAPPED={} -DGRADED={} -DLAYERS={} -DDRIVEN={} ", gpulab::real_option<T>(), p.rules.mapped,
                        p.rules.graded, p.rules.layers, p.rules.sources > 0 || p.rules.probes > 0 ? 1 : 0);
    }

    /// A kernel with the problem as its first arguments.
    cl::Kernel kernel(const char* source, const char* name, const std::string& more_options = "") {
        cl::Kernel k = gpulab::opencl_kernel(std::string(yee_cl) + source, name, options_ + more_options);
        gpulab::set_args(k, rules_.data(), map_.data(), table_.data(), layers_.data(), patches_.data(), values_.data(),
                         strengths_.data(), probes_.data(), recorded.data());
        return k;
    }
    /// Sets the arguments after those of the problem.
    template <class... Args> static void set_more(cl::Kernel& kernel, const Args&... args) {
        cl_uint index = 9;
        (kernel.setArg(index++, args), ...);
    }

private:
    std::string options_;
    gpulab::ClBuffer<Rules<T>> rules_;
    gpulab::ClBuffer<std::uint8_t> map_;
    gpulab::ClBuffer<Coefficients<T>> table_;
    gpulab::ClBuffer<T> layers_, values_, strengths_;
    gpulab::ClBuffer<Patch> patches_;
    gpulab::ClBuffer<ProbeCell> probes_;

public:
    gpulab::ClBuffer<T> recorded;
};

/// Columns .s[0] to .s[2] and rows .s[1] to .s[3] of the cells that are at no border and in no layer. Empty where media
/// differ.
template <class T> cl_int4 region_of(const Rules<T>& r) {
    if (r.mapped) return {{0, 0, 0, 0}};
    return {{std::max({1, r.change.x0, r.inner.x0}), std::max({1, r.change.y0, r.inner.y0}),
             std::min({r.nx, r.change.x1, r.inner.x1}), std::min({r.ny, r.change.y1, r.inner.y1})}};
}

/// A box around all sources and probes.
template <class T> cl_int4 hole_of(const Rules<T>& r) {
    if (r.sources == 0 && r.probes == 0) return {{0, 0, 0, 0}};
    const Box &a = r.sources ? r.driven : r.probed, &b = r.probes ? r.probed : r.driven;
    return {{std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)}};
}

/// The whole run of a rung whose passes read one field and write another, in turn.
/// @param pass `pass(queue, k, from, to, event)` enqueues pass k, from 0, with this event, which may be null
template <class T, class Pass>
void run_in_turns(const Problem<T>& p, ClProblem<T>& problem, Output<T>& out, Stopwatch& watch, cl_int passes,
                  const Pass& pass) {
    const ClFields<T> start(p.start);
    ClFields<T> one(p.start), other(p.array_size(), p.layered_size());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        for (cl_int k = 0; k < passes; ++k) {
            // Two events are enough: the time runs from the first pass to the last.
            cl::Event* const event = k == 0 || k == passes - 1 ? events.add() : nullptr;
            if (k % 2 == 0) pass(queue, k, one, other, event);
            else pass(queue, k, other, one, event);
        }
    };
    const auto reset = [&](const cl::CommandQueue& queue) {
        copy(start, one, queue);
        gpulab::poisoning(problem.recorded, other.u, other.p, other.q, other.v)(queue);
    };
    gpulab::watch_queue(watch, launch, reset);
    (passes % 2 == 1 ? other : one).copy_to(out.field);
    problem.recorded.copy_to(out.recorded);
}

} // namespace fdtd
