// Rung 1: one loop on one core. The reference that every other variant is compared with.
// (Alfaro Vigo & Rossetto, program 1.1)
//
// Limit: one core. It cannot keep enough loads in flight to use the memory of the whole machine.
#include "saxpy.hpp"

namespace saxpy {

void cpu_sequential(const Problem& p, Output& c, Stopwatch& watch) {
    watch.time([&] {
        for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
    });
}

} // namespace saxpy
