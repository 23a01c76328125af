// Rung 3: P threads, thread t takes the elements t, t + P, t + 2P, ... (Alfaro Vigo & Rossetto, program 1.4)
//
// Changed: only the assignment of elements to threads. The remainder needs no special case: a thread stops at n.
// Limit: the caches. The 16 floats of a 64-byte cache line belong to up to 16 threads. Each of these threads loads
// the line for a part of its floats, and the threads write to the same line of c in turn, so that the line moves from
// core to core (false sharing). On a GPU the same order is the right one: see cuda_grid_stride.
#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "saxpy.hpp"

namespace saxpy {

void cpu_interleaved(const Problem& p, Output& c, Stopwatch& watch) {
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());

    watch.tile(threads);
    const auto run = [&] {
        gpulab::Threads workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.start([&, t] {
                for (std::size_t i = t; i < p.size(); i += threads) c[i] = p.k * p.a[i] + p.b[i];
            });
    };
    watch.time(run, gpulab::poisoning(c));
}

} // namespace saxpy
