// Solver 2: substitution in blocks. (Alfaro Vigo & Rossetto, exercise 3.5)
//
// Changed: 64 unknowns are solved for, and then taken out of all other equations at once: a matrix product, whose rows
// do not depend on each other and are dealt out to all cores when there is enough of it.
// Limit: memory, shared by all cores; and the blocks on the diagonal, one after another.
#include "gpulab/poisoning.hpp"
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
