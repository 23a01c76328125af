// Rung 1: one loop on one core. The result of every other variant is compared with the result of this one.
// (Alfaro Vigo & Rossetto, program 1.1)
//
// Limit: how many cache lines one core can have in flight, that is, requested from memory and not yet arrived. They
// may use only a part of the memory bandwidth; `--study threads` shows how much more several cores reach.
#include "saxpy.hpp"

namespace saxpy {

void cpu_sequential(const Problem& p, Output& c, Stopwatch& watch) {
    watch.time(
        [&] {
            for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
        },
        gpulab::poisoning(c)); // fills c with NaN before every run, so that an old result cannot pass for a new one
}

} // namespace saxpy
