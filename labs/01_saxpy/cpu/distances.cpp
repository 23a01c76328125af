// Distances on the CPU: one loop on one core, the reference.
#include "distances.hpp"

#include <cmath>

namespace saxpy {

void cpu_distances(const DistanceProblem& p, Distances& d, gpulab::Stopwatch& watch) {
    const auto run = [&] {
        for (std::size_t i = 0; i < p.size(); ++i) {
            const float dx = p.points[i].x - p.from.x;
            const float dy = p.points[i].y - p.from.y;
            const float dz = p.points[i].z - p.from.z;
            d[i] = std::sqrt(dx * dx + dy * dy + dz * dz);
        }
    };
    watch.time(run, gpulab::poisoning(d));
}

} // namespace saxpy
