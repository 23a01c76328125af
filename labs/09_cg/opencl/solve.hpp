/// @file
/// What the OpenCL rungs share: the loop on one device, tuning, and the parts of several devices.
#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/opencl/timing.hpp"
#include "part.hpp"
#include "scalars.hpp"

namespace cg {

/// The times of a second solution are those of the first one only if it takes the same way: each rung adds up in one
/// order, so not even rounding differs.
template <class T> void check_same_history(const Output<T>& first, const Output<T>& second) {
    if (!same_bits(first.history, second.history))
        throw gpulab::WrongResult("a second solution has other residuals than the first");
}

/// The whole solution on one device, with the groups as they are.
template <class T>
void solve_on_one_device(ClPart<T>& device, const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const std::size_t n = device.rows();
    const auto solve = [&](Output<T>& result, gpulab::Timeline* timeline) {
        Scalars<T> scalars(problem, result);
        device.multiply(0, n); // p holds x_0 here
        device.next_r(T{1});   // r = b - A x_0
        device.dot_r();
        const ResidualSums start = device.residual();
        scalars.begin(start.rr, start.rho);
        device.next_p(T{0}); // p = z
        while (scalars.wants_more()) {
            device.multiply(0, n);
            device.dot_pq();
            const bool positive = scalars.accepts(device.pq());
            device.record().collect(result.iterations() == 2 ? timeline : nullptr); // pq() has waited for all commands
            if (!positive) break;
            const auto alpha = static_cast<T>(scalars.alpha());
            device.next_r(alpha);
            device.dot_r();
            device.next_x(alpha); // runs while the sums travel
            device.flush();
            const ResidualSums sums = device.residual();
            scalars.next(sums.rr, sums.rho);
            device.next_p(static_cast<T>(scalars.beta()));
        }
        device.finish();
    };
    const auto reset = [&] {
        device.reset();
        if (watch.flush_l2()) gpulab::flush_l2(device.context());
    };
    watch.time([&] { solve(out, nullptr); },
               [&] {
                   reset();
                   gpulab::poison(out.x);
               });
    out.x.resize(problem.n());
    device.solution(out.x);

    watch.leave_out([&] { // once more, with the times of all commands
        gpulab::Timeline timeline("queue");
        Output<T> again;
        reset();
        device.record().start();
        solve(again, &timeline);
        device.record().stop();
        check_same_history(out, again);
        out.kernel_ms = {device.record().ms().begin(), device.record().ms().end()};
        if (problem.trace) out.timeline = timeline;
    });
}

/// The parts of several devices.
template <class T> using ClParts = std::vector<std::unique_ptr<ClPart<T>>>;

/// Puts `command(part)` into the queue of every part, and then hands all queues to their devices.
template <class T, class Command> void on_all(const ClParts<T>& parts, const Command& command) {
    for (const auto& part : parts) command(*part);
    for (const auto& part : parts) part->flush();
}

/// The whole solution on several parts: the loop of solve_on_one_device(), each command for all parts.
///
/// The timeline of a problem that asks for one is the second iteration from its next r on, and the product of the
/// third.
/// @param multiply `multiply()` computes q = A p on all parts, with what they need of each other's p
template <class T, class Multiply>
void solve_on_parts(const ClParts<T>& parts, const Problem<T>& problem, Output<T>& out, Stopwatch& watch,
                    const Multiply& multiply) {
    const auto pq = [&] {
        double all = 0;
        for (const auto& part : parts) all += part->pq();
        return all;
    };
    const auto residual = [&] {
        ResidualSums all;
        for (const auto& part : parts) {
            const ResidualSums share = part->residual();
            all.rr += share.rr, all.rho += share.rho;
        }
        return all;
    };
    const auto solve = [&](Output<T>& result, gpulab::Timeline* timeline) {
        Scalars<T> scalars(problem, result);
        multiply(); // p holds x_0 here
        on_all(parts, [](ClPart<T>& d) { d.next_r(T{1}); });
        on_all(parts, [](ClPart<T>& d) { d.dot_r(); });
        const ResidualSums start = residual();
        scalars.begin(start.rr, start.rho);
        on_all(parts, [](ClPart<T>& d) { d.next_p(T{0}); });
        while (scalars.wants_more()) {
            multiply();
            on_all(parts, [](ClPart<T>& d) { d.dot_pq(); });
            const bool positive = scalars.accepts(pq());
            for (const auto& part : parts) part->record().collect(result.iterations() == 2 ? timeline : nullptr);
            if (!positive) break;
            const auto alpha = static_cast<T>(scalars.alpha());
            on_all(parts, [&](ClPart<T>& d) { d.next_r(alpha); });
            on_all(parts, [](ClPart<T>& d) { d.dot_r(); });
            on_all(parts, [&](ClPart<T>& d) { d.next_x(alpha); });
            const ResidualSums sums = residual();
            scalars.next(sums.rr, sums.rho);
            on_all(parts, [&](ClPart<T>& d) { d.next_p(static_cast<T>(scalars.beta())); });
        }
        for (const auto& part : parts) part->finish();
    };
    for (const auto& part : parts) {
        watch.tile(part->local_size(), "rows");
        watch.tile(part->local_size() * part->units() * part->groups.spmv, "rows");
    }
    const auto reset = [&] {
        for (const auto& part : parts) part->reset();
        if (watch.flush_l2())
            for (const auto& part : parts) gpulab::flush_l2(part->context());
    };
    watch.time([&] { solve(out, nullptr); },
               [&] {
                   reset();
                   gpulab::poison(out.x);
               });
    out.x.resize(problem.n());
    for (const auto& part : parts) part->solution(out.x);

    watch.leave_out([&] { // once more, with the times of all commands
        gpulab::Timeline timeline("queue");
        Output<T> again;
        reset();
        for (const auto& part : parts) part->record().start();
        solve(again, &timeline);
        check_same_history(out, again);
        std::vector<std::map<std::string, double>> kernel_ms;
        for (const auto& part : parts) {
            part->record().stop();
            kernel_ms.push_back(part->record().ms());
        }
        out.kernel_ms = longest_times(kernel_ms);
        if (problem.trace) out.timeline = timeline;
    });
}

/// Finds the groups of a device, or takes them from what was found earlier. @return an entry for each kernel
template <class T> std::vector<Tuned> tune(ClPart<T>& device, const Problem<T>& problem) {
    static std::mutex mutex;
    static auto* const caches = new std::map<std::string, TuningCache>; // by file; kept for the whole program
    const std::lock_guard lock(mutex);
    TuningCache& cache = caches->try_emplace(problem.tuning, problem.tuning).first->second;
    const std::string name = device.context().description().name, type = sizeof(T) == 8 ? "double" : "float";
    // Systems of about the same size share an entry: the next power of two.
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(device.rows(), 1));
    std::vector<Tuned> found;
    bool ready = false;
    for (const char* const kernel : kernel_names) {
        std::optional<Tuned> known = cache.find(name, kernel, type, size);
        if (!known) {
            if (!std::exchange(ready, true)) device.clear();
            known = fastest_groups([&](std::size_t count) { return device.time_of(kernel, count); }, device.rows());
            known->device = name, known->kernel = kernel, known->type = type, known->rows = size;
            cache.store(*known);
        }
        device.groups.of(kernel) = known->groups;
        found.push_back(*known);
    }
    return found;
}

/// The contexts of the parts: one for each device in use, several for each when there are more parts than devices. A
/// lone CPU is cut into sub-devices.
template <class T> std::vector<gpulab::OpenClContext*> part_contexts(const Problem<T>& problem) {
    std::vector<gpulab::Device> devices = gpulab::devices_in_use();
    std::erase_if(devices, [](const auto& d) { return d.backend != gpulab::Backend::opencl; });
    if (devices.empty()) devices.push_back(gpulab::opencl().description());
    const std::size_t count = problem.parts > 0 ? problem.parts : std::max<std::size_t>(devices.size(), 2);
    if (devices.size() == 1) return gpulab::opencl_parts(devices.front(), count);
    std::vector<gpulab::OpenClContext*> contexts;
    for (std::size_t i = 0; i < count; ++i)
        contexts.push_back(gpulab::opencl_parts(devices[i % devices.size()], 1).front());
    return contexts;
}

/// How the rows are shared out over these devices: equally many non-zeros each, or by the speed with which each of them
/// multiplies its equal share.
template <class T>
Split split_over(const Problem<T>& problem, const std::vector<gpulab::OpenClContext*>& contexts, Output<T>& out) {
    Split split = split_rows(problem.matrix, std::vector<double>(contexts.size(), 1.0));
    if (problem.balance != Balance::speed) return split;
    const std::vector<Part<T>> parts = make_parts(problem.matrix, split);
    std::vector<double> ms(parts.size()); // 0 for a part without a row
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].rows() == 0) continue;
        ClPart<T> part(*contexts[i], problem, parts[i], false);
        part.clear();
        std::vector<double> times;
        for (int run = 0; run < 6; ++run) times.push_back(part.time_of("spmv", 8));
        times.erase(times.begin()); // the first run may compile or fetch something
        ms[i] = gpulab::summarise(times).median;
    }
    split = split_by_speed(problem.matrix, split, ms);
    std::string line = "rows by measured speed:";
    for (std::size_t i = 0; i < parts.size(); ++i) line += fmt::format(" {}", split.rows(i));
    out.notes.push_back(line);
    return split;
}

} // namespace cg
