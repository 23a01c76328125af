// Rung 6: as many threads as cores, each with a band of rows. (Alfaro Vigo & Rossetto, exercise 1.2)
//
// Changed: the rows are divided before the threads start; each of the first m mod P threads has one row more. Nothing
// is shared while they run. Each band is computed in blocks, as in cpu_blocked.
// Limit: the arithmetic and the caches of all cores. A tuned library also copies A and B into an order in which they
// are read from start to end (packing), and keeps a block of sums in registers.
#include "blocks.hpp"
#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"

namespace matmul {

template <class T> void cpu_threads(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());
    const std::size_t share = p.m / threads, remainder = p.m % threads;
    name_blocks(watch);
    watch.tile(threads, "m").tile(threads * block_rows, "m");
    const auto run = [&] {
        gpulab::Threads workers;
        for (std::size_t t = 0; t < threads; ++t) {
            const std::size_t begin = t * share + std::min(t, remainder);
            const std::size_t end = begin + share + (t < remainder ? 1 : 0);
            workers.start([&, begin, end] { multiply_rows(p, c, begin, end); });
        }
    };
    watch.time(run, gpulab::poisoning(c));
}

INSTANTIATE_RUNG(cpu_threads);

} // namespace matmul
