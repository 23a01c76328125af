/// @file
/// What the OpenCL rungs of this lab share: the type a kernel is built for, and how many work-groups it gets.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "gpulab/opencl/group.hpp"
#include "gpulab/opencl/timing.hpp"
#include "reduction.hpp"

namespace reduction {

/// Work-items in a group of every kernel here; the halving trees need a power of two.
inline unsigned local_size() { return gpulab::group_size(256); }

/// A kernel of a program built for T.
/// @throws Unsupported when the device cannot run it in work-groups of local_size()
template <class T> cl::Kernel kernel_for(const char* source, const char* name) {
    cl::Kernel kernel = gpulab::opencl_kernel(source, name, gpulab::real_option<T>());
    if (gpulab::opencl().max_work_group(kernel) < local_size())
        throw gpulab::Unsupported("this device takes no work-groups of " + std::to_string(local_size()));
    return kernel;
}

/// Replaces the number of work-groups of max_groups(), unless it is 0. For tests that join many groups' sums on a
/// device with few compute units.
inline std::size_t groups_override = 0;

/// Work-groups that keep the device busy: eight per compute unit.
inline std::size_t max_groups() {
    return groups_override > 0 ? groups_override
                               : 8 * static_cast<std::size_t>(gpulab::opencl().description().compute_units);
}

/// The same, or fewer when there are not enough elements for all items.
inline std::size_t group_count(std::size_t items) {
    gpulab::note_cut(max_groups() * local_size());
    return std::min<std::size_t>(gpulab::grid_size(items, local_size()), max_groups());
}

/// As opencl_tree_interleaved: one work-item for each element, and round after round over the groups' sums.
/// @param name of a kernel that adds up as many elements as a group has items, and writes one sum for each group
template <class T>
void sum_in_rounds(const char* source, const char* name, const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a);
    struct Round {
        cl::Kernel kernel;
        std::size_t groups;
    };
    std::vector<Round> rounds;
    std::vector<gpulab::ClBuffer<T>> sums;
    for (std::size_t n = p.size(); rounds.empty() || n > 1; n = rounds.back().groups) {
        const std::size_t groups = gpulab::grid_size(n, local_size());
        const cl::Buffer from = rounds.empty() ? a.data() : sums.back().data();
        sums.emplace_back(groups);
        cl::Kernel kernel = kernel_for<T>(source, name);
        gpulab::set_args(kernel, from, cl_ulong{n}, cl::Local(local_size() * sizeof(T)), sums.back().data());
        rounds.push_back({kernel, groups});
    }
    std::vector<T> host(1);
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        for (const Round& round : rounds)
            gpulab::enqueue(queue, round.kernel, round.groups * local_size(), local_size(), events.add());
        queue.enqueueReadBuffer(sums.back().data(), CL_FALSE, 0, sizeof(T), host.data(), nullptr, events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums));
    sums.back().copy_to(sum);
}

/// As opencl_multi_stage: launches a kernel that writes one sum for each group, and adds up the groups' sums in double.
/// @param kernel its arguments are set @param sums one for each group @param items of each group
template <class T>
T sum_of_groups(const cl::Kernel& kernel, gpulab::ClBuffer<T>& sums, Stopwatch& watch,
                std::size_t items = local_size()) {
    std::vector<T> host(sums.size());
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        gpulab::enqueue(queue, kernel, cl::NDRange(sums.size() * items), items, events.add());
        queue.enqueueReadBuffer(sums.data(), CL_FALSE, 0, sums.bytes(), host.data(), nullptr, events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums));
    sums.copy_to(host); // the same numbers again, and a check of the guard bands
    double total = 0;
    for (const T x : host) total += x;
    return static_cast<T>(total);
}

} // namespace reduction
