/// @file
/// GPUs before CPUs, so that their results do not wait for the slowest rungs.
#pragma once

#include <algorithm>
#include <vector>

#include "gpulab/jobs.hpp"

namespace gpulab {

/// The jobs that run on a GPU, then the others: on a large problem, a rung on one core takes a thousand times as long.
/// On each device the order of the table stays; all of it stays in a study, and when the user has named variants.
template <class Run> std::vector<Job<Run>> gpus_first(std::vector<Job<Run>> jobs, const Options& options) {
    const auto on_gpu = [](const Job<Run>& job) {
        const Device device = job.device();
        return device.backend != Backend::cpu && !job.devices.empty() && !device.is_cpu && !device.emulated;
    };
    if (options.study().empty() && options.chosen_variants().empty())
        std::stable_partition(jobs.begin(), jobs.end(), on_gpu);
    return jobs;
}

} // namespace gpulab
