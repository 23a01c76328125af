#include "distances.hpp"

#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "gpulab/parallel.hpp"
#include "rungs.hpp"

namespace saxpy {

DistanceProblem make_distance_problem(std::size_t n, std::uint64_t seed) {
    const std::vector<float> xyz = gpulab::random_vector<float>(3 * n + 3, seed);
    DistanceProblem p;
    p.from = {xyz[3 * n], xyz[3 * n + 1], xyz[3 * n + 2]};
    p.points = gpulab::zeros<Point>(n);
    gpulab::for_ranges(n, 1 << 18, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) p.points[i] = {xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]};
    });
    return p;
}

gpulab::Comparison compare(const Distances& reference, const Distances& d) {
    return gpulab::compare(reference, d, distance_tolerance, [&](std::size_t i) { return reference[i]; });
}

std::span<const gpulab::Variant<DistanceRun>> distance_variants() {
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function), function, __VA_ARGS__)
    static constexpr gpulab::Variant<DistanceRun> table[] = {
#include "rungs_distances.inc"
    };
    return table;
}

} // namespace saxpy
