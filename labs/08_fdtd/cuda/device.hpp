/// @file
/// Any scene in device memory: what the host half of cuda_scene and of the rungs after it have in common.
#pragma once

#include <algorithm>

#include "fields.hpp"

namespace fdtd {

/// Media, layers, sources and records of a problem on the device.
template <class T> class DeviceProblem {
public:
    explicit DeviceProblem(const Problem<T>& p)
        : map_(p.map), table_(p.table), layers_(p.layers), values_(p.values), strengths_(p.strengths),
          patches_(p.patches), probes_(p.probes), recorded(p.recorded_size()) {
        view_ = {p.rules,        map_.data(),       table_.data(),  layers_.data(),  patches_.data(),
                 values_.data(), strengths_.data(), probes_.data(), recorded.data(), p.array_size()};
        std::copy_n(p.patches.begin(), std::min(p.patches.size(), std::size(view_.first)), view_.first);
    }

    const View<T>& view() const { return view_; }

private:
    View<T> view_;
    gpulab::DeviceBuffer<std::uint8_t> map_;
    gpulab::DeviceBuffer<Coefficients<T>> table_;
    gpulab::DeviceBuffer<T> layers_, values_, strengths_;
    gpulab::DeviceBuffer<Patch> patches_;
    gpulab::DeviceBuffer<ProbeCell> probes_;

public:
    gpulab::DeviceBuffer<T> recorded;
};

/// The whole run of a rung that reads one field and writes another, in turn.
/// @param body `body(stream, view, from, to)` launches all steps and returns whether the last result is in `to`
template <class T, class Body>
void run_in_turns(const Problem<T>& p, Output<T>& out, Stopwatch& watch, const Body& body) {
    DeviceProblem<T> problem(p);
    const FieldBuffers<T> start(p.start);
    FieldBuffers<T> one(p.start), other(p);
    bool in_other = false;
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { in_other = body(stream, problem.view(), one.pointers(), other.pointers()); },
        [&](cudaStream_t stream) {
            copy_async(start, one, stream);
            gpulab::poisoning(problem.recorded, other.u, other.p, other.q, other.v)(stream);
        });
    (in_other ? other : one).copy_to(out.field);
    problem.recorded.copy_to(out.recorded);
}

} // namespace fdtd
