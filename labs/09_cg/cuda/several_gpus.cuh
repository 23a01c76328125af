/// @file
/// What the rungs for several GPUs do besides the method: they share the rows out, and take times and traces.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu_parts.cuh"
#include "gpulab/device.hpp"

namespace cg {

/// The time in which a device multiplies its rows, in milliseconds.
template <class T> double multiply_ms(int device, const Part<T>& part) {
    const OnDevice on(device);
    const DeviceSliced<T> matrix(part.matrix);
    gpulab::DeviceBuffer<T> q(part.rows());
    const gpulab::DeviceBuffer<T> p(std::vector<T>(part.p_size(), T{1}));
    gpulab::DeviceBuffer<double> partial(blocks_for(inner_kernel<T>, part.rows()));
    DeviceState state(0);
    Stopwatch watch(2, 5);
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        state.clear(stream);
        inner_kernel<<<static_cast<unsigned>(partial.size()), block_threads, 0, stream>>>(
            matrix.view(), 0, part.rows(), p.data(), q.data(), partial.data(), state.data());
    });
    return watch.kernel().median;
}

/// The rows of a system, shared out over GPUs.
template <class T> struct SharedOut {
    std::vector<int> devices; ///< the device of every part; parts may share one
    std::vector<Part<T>> parts;
    std::string note; ///< how many rows each has, when that was measured; else empty
};

/// Shares the rows out over all GPUs in use: a part for each, two at least, or as many as the problem asks for.
template <class T> SharedOut<T> share_out(const Problem<T>& problem) {
    std::vector<int> found;
    for (const gpulab::Device& device : gpulab::devices_in_use())
        if (device.backend == gpulab::Backend::cuda) found.push_back(device.index);
    if (found.empty()) found.push_back(0);
    SharedOut<T> out;
    const std::size_t count = problem.parts > 0 ? problem.parts : std::max<std::size_t>(found.size(), 2);
    for (std::size_t i = 0; i < count; ++i) out.devices.push_back(found[i % found.size()]);
    const Split split = split_over(problem, count, out.note, [&](std::size_t i, const Part<T>& part) {
        return std::max(multiply_ms(out.devices[i], part), 1e-6);
    });
    out.parts = make_parts(problem.matrix, split);
    return out;
}

/// Iterations that are put into the streams before the host looks at the state again.
constexpr std::size_t batch = 8;

/// Solves once more with events around every kernel.
/// @return the time of each kind of kernel: of the part in which that kind took longest, because GPUs work at the same
///         time
template <class Parts> std::vector<std::pair<std::string, double>> kernel_times_of(Parts& parts) {
    std::vector<std::map<std::string, double>> ms; // of each part
    const auto collect = [&] {
        parts.synchronize();
        parts.each([&](auto& g) { g.trace.add_to(ms[g.me]); });
    };
    parts.reset();
    parts.each([&](auto& g) {
        ms.emplace_back();
        g.trace.start(g.stream);
    });
    const auto progress = [&](std::size_t iteration) { // now and then, so that there are few events
        if (iteration % batch == 0) collect();
    };
    solve(parts, batch, progress, [](const gpulab::Event& event) { event.synchronize(); });
    collect();
    parts.each([](auto& g) { g.trace.stop(); });
    return longest_times(ms);
}

/// Records the third iteration: the first ones pay for what is done once.
template <class Parts> void record_iteration(Parts& parts, gpulab::Timeline& timeline) {
    parts.reset();
    begin(parts);
    iterate(parts);
    iterate(parts);
    parts.synchronize();
    parts.each([](auto& g) { g.trace.start(g.stream); });
    iterate(parts);
    parts.synchronize();
    parts.each([&](auto& g) { g.trace.add_to(timeline, static_cast<int>(g.me)); });
}

/// A rung for several GPUs. @tparam Parts a way to exchange data, such as PeerCopies
template <class Parts, class T> void solve_on_gpus(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const SharedOut<T> rows = share_out(problem);
    Parts gpus(problem, rows.parts, rows.devices);
    watch.tile(block_threads, "rows");
    watch.tile(block_threads * rows.parts.size(), "rows");
    watch.tile(gpus.rows_at_a_time() * rows.parts.size(), "rows");
    watch.time(
        [&] {
            solve(
                gpus, batch, [](std::size_t) {}, [](const gpulab::Event& event) { event.synchronize(); });
            gpus.synchronize();
        },
        [&] { gpus.reset(); });
    gpus.result(out);
    if (!rows.note.empty()) out.notes.push_back(rows.note);
    watch.leave_out([&] {
        out.kernel_ms = kernel_times_of(gpus);
        if (problem.trace && out.iterations() >= 3) record_iteration(gpus, out.timeline);
    });
}

} // namespace cg
