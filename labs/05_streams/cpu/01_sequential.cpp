// Rung 1: every byte in one loop on one core. The speed-up of every other variant is relative to its time.
//
// Limit: one core. There is nothing to copy here; on a GPU, copying takes longer than so small an operation.
#include "streams.hpp"

namespace streams {

void cpu_sequential(const Problem& p, Output& out, Stopwatch& watch) {
    watch.time([&] { transform_rows(p, out, 0, p.image.height); }, gpulab::poisoning(out.pixels));
}

} // namespace streams
