// Rung 2: P threads, each with a band of rows.
//
// Changed: the rows are divided among the threads; bands differ by one row at most. The strips of the GPU variants are
// cut in the same way.
//
// Limit: the cores, which work on one byte at a time and test each for alpha.
#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "streams.hpp"

namespace streams {

void cpu_threads(const Problem& p, Output& out, Stopwatch& watch) {
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());
    watch.tile(threads, "rows");
    const auto run = [&] {
        gpulab::Threads workers; // waits for its threads when it goes out of scope
        for (std::size_t t = 0; t < threads; ++t)
            workers.start(
                [&, t] { transform_rows(p, out, p.image.height * t / threads, p.image.height * (t + 1) / threads); });
    };
    watch.time(run, gpulab::poisoning(out.pixels));
}

} // namespace streams
