/// @file
/// What the OpenCL rungs for several devices share besides the method: their devices, times and traces.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "../devices/host_parts.hpp"
#include "gpulab/device.hpp"
#include "host_threads.hpp"
#include "solve.hpp"

namespace cg {

/// Of every part, the context that it is in.
using Contexts = std::vector<gpulab::OpenClContext*>;

/// The contexts of the parts: one for each device in use, several for each when there are more parts than devices. A
/// lone CPU is cut into sub-devices.
template <class T> Contexts part_contexts(const Problem<T>& problem) {
    std::vector<gpulab::Device> devices = gpulab::devices_in_use();
    std::erase_if(devices, [](const auto& d) { return d.backend != gpulab::Backend::opencl; });
    if (devices.empty()) devices.push_back(gpulab::opencl().description());
    const std::size_t count = problem.parts > 0 ? problem.parts : std::max<std::size_t>(devices.size(), 2);
    if (devices.size() == 1) return gpulab::opencl_parts(devices.front(), count);
    Contexts contexts;
    for (std::size_t i = 0; i < count; ++i)
        contexts.push_back(gpulab::opencl_parts(devices[i % devices.size()], 1).front());
    return contexts;
}

/// The time in which a device multiplies its rows, in milliseconds.
template <class T> double multiply_ms(gpulab::OpenClContext& context, const Problem<T>& problem, const Part<T>& rows) {
    ClPart<T> part(context, problem, rows, false);
    part.clear();
    return part.times_of("spmv", 8, 5).median;
}

/// Compute units times clock rate of a device. One that does not tell its clock counts with its units.
inline double units_times_clock(const gpulab::OpenClContext& context) {
    const cl::Device device = context.device();
    return static_cast<double>(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()) *
           std::max<double>(device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>(), 1);
}

/// Parts on these devices, with tuned kernels, and with the times of their commands when they are recorded.
template <class T> class ClParts : public HostParts<T, ClPart<T>> {
public:
    /// @param whole_p whether every device has all of p; see ClPart
    ClParts(const Problem<T>& problem, const Contexts& contexts, const std::vector<Part<T>>& parts, bool whole_p)
        : HostParts<T, ClPart<T>>(problem) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            this->add(std::make_unique<ClPart<T>>(*contexts[i], problem, parts[i], whole_p, static_cast<int>(i)));
            tune(*this->devices()[i], problem);
        }
        // The cores of a CPU have the kernels to compute. And in PoCL 3.1 two threads that begin kernels at the same
        // time can trip an assertion.
        const std::set<const gpulab::OpenClContext*> different(contexts.begin(), contexts.end());
        const bool cpu = std::ranges::any_of(contexts, [](const auto* c) { return c->description().is_cpu; });
        if (!cpu && different.size() == contexts.size()) one_thread_per_device();
    }
    /// From now on, on_all() works for all devices at the same time.
    void one_thread_per_device() { threads_.emplace(this->devices().size()); }
    bool share_pq() {
        const bool more = this->scalars().accepts(this->pq()); // pq() has waited for all commands
        for (auto& part : this->devices())
            part->record().collect(this->history_and_end().iterations() == 2 ? timeline : nullptr);
        return more;
    }
    void share_residual() { this->take(this->residual()); }

    /// Gets the commands from the next r of the second iteration to the product of the third, unless null.
    gpulab::Timeline* timeline = nullptr;

protected:
    void on_all(const std::function<void(ClPart<T>&, std::size_t)>& give) override {
        if (!threads_) return HostParts<T, ClPart<T>>::on_all(give);
        threads_->on_all([&](std::size_t i) {
            give(*this->devices()[i], i);
            this->devices()[i]->flush();
        });
    }

private:
    std::optional<HostThreads> threads_;
};

/// A rung for several OpenCL devices. @tparam Parts a transport, such as HostCopies
template <class T, class Parts>
void solve_on_devices(Parts& parts, const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    std::vector<ClPart<T>*> devices;
    for (const auto& part : parts.devices()) {
        devices.push_back(part.get());
        watch.tile(part->local_size(), "rows");
        watch.tile(part->local_size() * part->units() * part->groups["spmv"], "rows");
    }
    time_solution(devices, problem, out, watch, [&](Output<T>& result, gpulab::Timeline* timeline) {
        parts.timeline = timeline;
        solve(parts, [](std::size_t) {});
        for (ClPart<T>* device : devices) device->finish();
        const Output<T>& found = parts.history_and_end();
        result.history = found.history;
        result.end = found.end;
        result.curvature = found.curvature;
    });
}

} // namespace cg
