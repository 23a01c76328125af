/// @file
/// What the OpenCL rungs share: the loop on one device, and tuning.
#pragma once

#include <map>
#include <vector>

#include "gpulab/opencl/timing.hpp"
#include "part.hpp"
#include "scalars.hpp"

namespace cg {

/// Times a solution on some devices, and solves once more, outside the times, with the times of all commands.
/// @param devices ClPart, or what else has its reset(), context(), record(), part() and solution()
/// @param solve `solve(result, timeline)` solves, and waits; it puts commands into the timeline, unless that is null
template <class T, class Device = ClPart<T>, class Solve>
void time_solution(const std::vector<Device*>& devices, const Problem<T>& problem, Output<T>& out, Stopwatch& watch,
                   const Solve& solve) {
    const auto reset = [&] {
        for (Device* device : devices) device->reset();
        if (watch.flush_l2())
            for (Device* device : devices) gpulab::flush_l2(device->context());
    };
    watch.time([&] { solve(out, nullptr); },
               [&] {
                   reset();
                   gpulab::poison(out.x);
               });
    out.x.resize(problem.n());
    for (Device* device : devices)
        device->solution(std::span<T>(out.x).subspan(device->part().first, device->part().rows()));

    watch.leave_out([&] {
        gpulab::Timeline timeline("queue");
        Output<T> again;
        reset();
        for (Device* device : devices) device->record().start();
        solve(again, &timeline);
        if (!same_bits(out.history, again.history)) // each rung adds up in one order: not even rounding differs
            throw gpulab::WrongResult("a second solution has other residuals than the first");
        std::vector<std::map<std::string, double>> kernel_ms;
        for (Device* device : devices) {
            device->record().stop();
            kernel_ms.push_back(device->record().ms());
        }
        out.kernel_ms = longest_times(kernel_ms);
        if (problem.trace) out.timeline = timeline;
    });
}

/// The whole solution on one device, with the groups as they are. The numbers are those of the method's steps, in the
/// README. Names the tiles of the product.
template <class T>
void solve_on_one_device(ClPart<T>& device, const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const std::size_t n = device.rows();
    watch.tile(device.local_size(), "rows");
    watch.tile(device.local_size() * device.units() * device.groups["spmv"], "rows");
    time_solution<T>({&device}, problem, out, watch, [&](Output<T>& result, gpulab::Timeline* timeline) {
        Scalars<T> scalars(problem, result);
        device.multiply(0, n); // p holds x_0 here
        device.next_r(T{1});   // r = b - A x_0
        device.dot_r();
        const ResidualSums start = device.residual();
        scalars.begin(start.rr, start.rho);
        device.next_p(T{0}); // p = z
        while (scalars.wants_more()) {
            device.multiply(0, n);                                                  // 1: q = A p
            device.dot_pq();                                                        // 2: p . q
            const bool positive = scalars.accepts(device.pq());                     // 3: alpha
            device.record().collect(result.iterations() == 2 ? timeline : nullptr); // pq() has waited for all commands
            if (!positive) break;
            const auto alpha = static_cast<T>(scalars.alpha());
            device.next_r(alpha); // 5: r -= alpha q
            device.dot_r();       // 6: r . r and r . z
            device.next_x(alpha); // 4: x += alpha p, while the sums travel
            device.flush();
            const ResidualSums sums = device.residual();
            scalars.next(sums.rr, sums.rho);               // 7: beta
            device.next_p(static_cast<T>(scalars.beta())); // 8: p = z + beta p
        }
        device.finish();
    });
}

/// Finds the groups of a device, or takes them from what was found earlier. @return tuning_table() of what was found
template <class T> std::string tune(ClPart<T>& device, const Problem<T>& problem) {
    bool ready = false;
    std::vector<Tuned> found;
    for (const char* const kernel : kernel_names) {
        const auto time = [&](std::size_t groups) {
            if (!std::exchange(ready, true)) device.clear();
            return device.time_of(kernel, groups);
        };
        found.push_back(find_groups(problem.tuning, device.name(), kernel, sizeof(T) == 8 ? "double" : "float",
                                    device.rows(), time));
        device.groups[kernel] = found.back().groups;
    }
    return tuning_table(found);
}

} // namespace cg
