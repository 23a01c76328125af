/// @file
/// Any scene in device memory: what the host half of cuda_scene and of the rungs after it have in common.
#pragma once

#include <algorithm>

#include "fdtd.hpp"
#include "fields.hpp"
#include "gpulab/error.hpp"

namespace fdtd {

/// Media, layers, sources and records of a problem on the device.
template <class T> struct DeviceProblem {
    explicit DeviceProblem(const Problem<T>& p)
        : map(p.map), table(p.table), layers(p.layers), values(p.values), strengths(p.strengths), patches(p.patches),
          probes(p.probes), recorded(p.recorded_size()) {
        view = {p.rules,       map.data(),       table.data(),  layers.data(),   patches.data(),
                values.data(), strengths.data(), probes.data(), recorded.data(), p.array_size()};
        std::copy_n(p.patches.begin(), std::min(p.patches.size(), std::size(view.first)), view.first);
    }

    View<T> view;
    gpulab::DeviceBuffer<std::uint8_t> map;
    gpulab::DeviceBuffer<Coefficients<T>> table;
    gpulab::DeviceBuffer<T> layers, values, strengths;
    gpulab::DeviceBuffer<Patch> patches;
    gpulab::DeviceBuffer<ProbeCell> probes;
    gpulab::DeviceBuffer<T> recorded;
};

/// The arrays of a field, for kernels.
template <class T> FieldPointers<T> pointers_of(FieldBuffers<T>& f) {
    return {f.u.data(), f.p.data(), f.q.data(), f.v.data()};
}

/// The whole run of a rung that changes the field in place, one or more kernels per step, with blocks of block_x x
/// block_y threads and a thread for each of the (nx + 1) x (ny + 1) places that hold numbers.
/// @param body `body(stream, grid, block, view, field, step)` launches a step
/// @throws gpulab::Unsupported where the problem asks for more than 1024 threads
template <class T, class Body>
void run_in_place(const Problem<T>& p, Output<T>& out, Stopwatch& watch, const Body& body) {
    const dim3 block(p.block_x, p.block_y);
    if (block.x * block.y > 1024) throw gpulab::Unsupported("a block has at most 1024 threads");
    const dim3 grid(gpulab::grid_size(p.nx() + 1, block.x), gpulab::grid_size(p.ny() + 1, block.y));
    watch.tile(block.x, "nx");
    watch.tile(block.y, "ny");
    DeviceProblem<T> problem(p);
    const FieldBuffers<T> start(p.start);
    FieldBuffers<T> field(p.start);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            for (int step = 0; step < p.rules.steps; ++step)
                body(stream, grid, block, problem.view, pointers_of(field), step);
        },
        [&](cudaStream_t stream) { // a fresh start: the steps overwrite it
            copy_async(start, field, stream);
            gpulab::poison(problem.recorded, stream);
        });
    field.copy_to(out.field);
    problem.recorded.copy_to(out.recorded);
}

/// The whole run of a rung that reads one field and writes another, in turn.
/// @param body `body(stream, view, from, to)` launches all steps and returns whether the last result is in `to`
template <class T, class Body>
void run_in_turns(const Problem<T>& p, Output<T>& out, Stopwatch& watch, const Body& body) {
    DeviceProblem<T> problem(p);
    const FieldBuffers<T> start(p.start);
    const Rules<T>& r = p.rules;
    FieldBuffers<T> one(p.start), other(r.nx, r.ny, r.pitch, p.layered_size());
    other.fill(other.v, r.pitch, r.inner.x0, r.inner.y0, r.inner.x1, r.inner.y1);
    bool in_other = false;
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) { in_other = body(stream, problem.view, pointers_of(one), pointers_of(other)); },
        [&](cudaStream_t stream) {
            copy_async(start, one, stream);
            gpulab::poisoning(problem.recorded, other.u, other.p, other.q, other.v)(stream);
        });
    (in_other ? other : one).copy_to(out.field);
    problem.recorded.copy_to(out.recorded);
}

} // namespace fdtd
