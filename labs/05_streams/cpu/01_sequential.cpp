// Rung 1: every byte in one loop on one core. The speed-up of every other variant is counted from its time.
//
// Limit: one core. There is nothing to copy, which is more than a GPU can say: for an operation as small as this one
// the way to the device costs more than the work.
#include "gpulab/poisoning.hpp"
#include "streams.hpp"

namespace streams {

void cpu_sequential(const Problem& p, Output& out, Stopwatch& watch) {
    watch.time([&] { transform_rows(p, out, 0, p.image.height); }, gpulab::poisoning(out.pixels));
}

} // namespace streams
