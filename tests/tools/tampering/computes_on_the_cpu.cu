// Computes on the CPU, also where compute-sanitizer finds nothing. There is no kernel.
// most: 0
// outcome: failed
// tests: one block, a last block that is not full, any length, NaN and infinity, no access outside the arrays, as fast as the rung
#include "saxpy.hpp"

namespace saxpy {

void cuda_many_blocks(const Problem& p, Output& c, Stopwatch&) {
    for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
}

} // namespace saxpy
