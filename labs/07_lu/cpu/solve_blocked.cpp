// Solver 2: substitution in blocks. (Alfaro Vigo & Rossetto, exercise 3.5)
//
// Changed: 64 unknowns are computed and then eliminated from all other equations together. That is a matrix product;
// its rows are independent, and large products are distributed over all cores.
// Limit: memory, shared by all cores; and the blocks on the diagonal, one after another.
#include "solve_blocks.hpp"

namespace lu {

void cpu_solve_blocked(const SolveProblem& p, Solution& x, Stopwatch& watch) {
    watch.tile(solve_rows);
    const auto solve = [&] {
        x = permuted(p);
        solve_in_blocks(p.factors, x, p.count);
    };
    watch.time(solve, gpulab::poisoning(x));
}

} // namespace lu
