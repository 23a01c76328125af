// Rung 3: in blocks that stay in the cache.
//
// Changed: the loops over columns and over l are cut into blocks, so that a block of B is loaded once and used by
// every row of C before the next block comes; and four rows share each number of B that is loaded (see blocks.hpp).
// The idea of the shared-memory tiles of a GPU: here the hardware keeps the tile, there the program does.
// Limit: one core.
#include "blocks.hpp"
#include "gpulab/poisoning.hpp"

namespace matmul {

template <class T> void cpu_blocked(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    name_blocks(watch);
    watch.time([&] { multiply_rows(p, c, 0, p.m); }, gpulab::poisoning(c));
}

template void cpu_blocked(const Problem<float>&, Output<float>&, Stopwatch&);
template void cpu_blocked(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace matmul
