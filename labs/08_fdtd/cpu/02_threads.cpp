// Rung 2: as many threads as cores, each with a band of rows.
//
// Changed: the threads live through all steps. P of a band's first row needs U of the last row of the band below, and U
// of its last row needs P of the first row of the band above. So all threads wait for each other twice per step, at a
// barrier (std::barrier).
// Limit: memory or cache, as before, but of all cores; on small grids, the two barriers per step.
#include <algorithm>
#include <barrier>
#include <thread>

#include "gpulab/device.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/stopwatch.hpp"
#include "rows.hpp"

namespace fdtd {

template <class T> void cpu_threads(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const int threads = std::min(gpulab::hardware_threads(), p.rules.ny);
    watch.tile(static_cast<std::size_t>(gpulab::hardware_threads()), "ny");
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
        std::vector<std::jthread> workers;
        for (int t = 1; t < threads; ++t) workers.emplace_back(work, t);
        work(0);
    };
    watch.time(run, [&] {
        out.field = p.start;
        gpulab::poison(out.recorded);
    });
}

template void cpu_threads(const Problem<float>&, Output<float>&, Stopwatch&);
template void cpu_threads(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
