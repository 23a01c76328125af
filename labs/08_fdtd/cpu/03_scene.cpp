// Rung 3: everything that a scene may have.
//
// Changed: both modes, media, absorbing layers, all boundaries, any number of sources, and probes. rules.hpp introduces
// what such a problem consists of, rows.hpp computes the rows; the loop over steps and bands is that of rung 2.
// cpu_scene has one thread, cpu_scene_threads one per core.
// Limit: memory or cache, as before; where media differ, also the look-up of a cell's coefficients.
#include <algorithm>
#include <barrier>

#include "gpulab/device.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/stopwatch.hpp"
#include "rows.hpp"

namespace fdtd {

namespace {

template <class T> void in_bands(const Problem<T>& p, Output<T>& out, Stopwatch& watch, int threads) {
    threads = std::min(threads, p.rules.ny);
    const auto run = [&] {
        std::barrier all(threads);
        const auto work = [&](int t) {
            const int begin = static_cast<int>(std::int64_t{p.rules.ny} * t / threads);
            const int end = static_cast<int>(std::int64_t{p.rules.ny} * (t + 1) / threads);
            for (std::size_t step = 0; step < p.steps(); ++step) {
                for (int j = begin; j < end; ++j) update_u_row(p, out, j, step);
                all.arrive_and_wait(); // U is complete
                for (int j = begin; j < end; ++j) update_edges_row(p, out, j, step);
                all.arrive_and_wait(); // P and Q are complete
            }
        };
        gpulab::in_team(threads, work);
    };
    watch.time(run, [&] {
        out.field = p.start;
        gpulab::poison(out.recorded);
    });
}

} // namespace

template <class T> void cpu_scene(const Problem<T>& p, Output<T>& out, Stopwatch& watch) { in_bands(p, out, watch, 1); }

template <class T> void cpu_scene_threads(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    watch.tile(static_cast<std::size_t>(gpulab::hardware_threads()), "ny");
    in_bands(p, out, watch, gpulab::hardware_threads());
}

INSTANTIATE_RUNG(cpu_scene);
INSTANTIATE_RUNG(cpu_scene_threads);

} // namespace fdtd
