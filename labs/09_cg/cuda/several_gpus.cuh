/// @file
/// What the rungs for several GPUs do besides the method: they share the rows out, and take times and traces.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu_parts.cuh"
#include "gpulab/device.hpp"

namespace cg {

/// The time in which a device multiplies its rows, in milliseconds. The device becomes the current one.
template <class T> double multiply_ms(int device, const Part<T>& part) {
    CUDA_CHECK(cudaSetDevice(device));
    const DeviceSliced<T> matrix(part.matrix);
    gpulab::DeviceBuffer<T> q(part.rows());
    const gpulab::DeviceBuffer<T> p(std::vector<T>(part.p_size(), T{1}));
    gpulab::DeviceBuffer<double> partial(blocks_for(inner_kernel<T>, part.rows()));
    DeviceState state(State{});
    Stopwatch watch(2, 5);
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        state.clear(stream);
        inner_kernel<<<static_cast<unsigned>(partial.size()), block_threads, 0, stream>>>(
            matrix.view(), RowRange{0, part.rows()}, p.data(), q.data(), partial.data(), state.data());
    });
    return watch.kernel().median;
}

/// The GPU of every part: a part for each that is in use, two at least, or as many as the problem asks for.
template <class T> std::vector<int> part_gpus(const Problem<T>& problem) {
    std::vector<int> found;
    for (const gpulab::Device& device : gpulab::devices_in_use())
        if (device.backend == gpulab::Backend::cuda) found.push_back(device.index);
    if (found.empty()) found.push_back(0);
    std::vector<int> devices(problem.parts > 0 ? problem.parts : std::max<std::size_t>(found.size(), 2));
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i] = found[i % found.size()];
    return devices;
}

/// Iterations that are put into the streams before the host looks at the state again.
constexpr std::size_t batch = 8;

/// Solves once more with events around every kernel.
/// @return the time of each kind of kernel: of the part in which that kind took longest, because GPUs work at the same
///         time
template <class Parts> std::vector<std::pair<std::string, double>> kernel_times_of(Parts& parts) {
    const auto collect = [&] {
        parts.synchronize();
        parts.each([](auto& g) { g.trace.collect(); });
    };
    parts.reset();
    parts.each([](auto& g) { g.trace.start(g.stream); });
    solve(parts, batch, [&](std::size_t iteration) {
        if (iteration % batch == 0) collect(); // now and then, so that there are few events
    });
    collect();
    std::vector<std::map<std::string, double>> ms;
    parts.each([&](auto& g) {
        ms.push_back(g.trace.ms());
        g.trace.stop();
    });
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

/// Multiprocessors times clock rate of a device.
inline double units_times_clock(int device) {
    int units = 0, khz = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device));
    CUDA_CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device));
    return static_cast<double>(units) * std::max(khz, 1);
}

/// A rung for several GPUs. @tparam Parts a transport, such as PeerCopies
template <class Parts, class T> void solve_on_gpus(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const std::vector<int> devices = part_gpus(problem);
    std::string note;
    const std::vector<Part<T>> parts = split_over(
        problem, devices.size(), note,
        [&](std::size_t i, const Part<T>& part) { return std::max(multiply_ms(devices[i], part), 1e-6); },
        [&](std::size_t i) { return units_times_clock(devices[i]); });
    Parts gpus(problem, parts, devices);
    watch.tile(block_threads, "rows");
    watch.tile(block_threads * parts.size(), "rows");
    watch.tile(gpus.rows_at_a_time() * parts.size(), "rows");
    watch.time([&] { solve(gpus, batch, [](std::size_t) {}); }, [&] { gpus.reset(); });
    gpus.result(out);
    if (!note.empty()) out.notes.push_back(note);
    watch.leave_out([&] {
        out.kernel_ms = kernel_times_of(gpus);
        if (problem.trace && out.iterations() >= 3) record_iteration(gpus, out.timeline);
    });
}

} // namespace cg
