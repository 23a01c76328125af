#include "distances.hpp"

#include <array>

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "rungs.hpp"

namespace saxpy {

DistanceProblem make_distance_problem(std::size_t n, std::uint64_t seed) {
    const std::vector<float> xyz = gpulab::random_vector<float>(3 * n + 3, seed);
    DistanceProblem p;
    p.from = {xyz[3 * n], xyz[3 * n + 1], xyz[3 * n + 2]};
    p.points.resize(n);
    for (std::size_t i = 0; i < n; ++i) p.points[i] = {xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]};
    return p;
}

gpulab::Comparison compare(const Distances& reference, const Distances& d) {
    return gpulab::compare(reference, d, distance_tolerance, [&](std::size_t i) { return reference[i]; });
}

std::span<const gpulab::Variant<DistanceRun>> distance_variants() {
    using enum gpulab::Backend;
    static constexpr std::array table = {
        gpulab::Variant<DistanceRun>{"cpu_distances", "one loop on one core", cpu, cpu_distances},
        gpulab::Variant<DistanceRun>{"opencl_distances_packed", "12 bytes per point: three 4-byte loads", opencl,
                                     GPULAB_IF_OPENCL(opencl_distances_packed)},
        gpulab::Variant<DistanceRun>{"opencl_distances_aligned", "16 bytes per point: one float4 load", opencl,
                                     GPULAB_IF_OPENCL(opencl_distances_aligned)},
        gpulab::Variant<DistanceRun>{"cuda_distances_packed", "12 bytes per point: three 4-byte loads", cuda,
                                     GPULAB_IF_CUDA(cuda_distances_packed)},
        gpulab::Variant<DistanceRun>{"cuda_distances_aligned", "16 bytes per point: one 16-byte load", cuda,
                                     GPULAB_IF_CUDA(cuda_distances_aligned)},
    };
    return table;
}

} // namespace saxpy
