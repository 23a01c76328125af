// Rung 1: one loop on one core. The reference that every other variant is compared with.
// (Alfaro Vigo & Rossetto, program 1.1)
//
// Limit: what one core can keep in flight. On a large server that is a small part of what the memory can deliver; on a
// computer with few cores and one memory channel it may be nearly all.
#include "gpulab/poisoning.hpp"
#include "saxpy.hpp"

namespace saxpy {

void cpu_sequential(const Problem& p, Output& c, Stopwatch& watch) {
    watch.time(
        [&] {
            for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
        },
        gpulab::poisoning(c)); // before every run c is filled with NaN, so that no earlier result can pass for this one
}

} // namespace saxpy
