// Solver 3: one step of iterative refinement.
//
// Changed: after the first solution, A D = R is solved with the same factors for the residual R = B - A X, and D is
// added to X. One step corrects the effect of growth in the factors, unless A is close to singular (Higham,
// section 12.1).
// Limit: memory. The factors are read twice, and A once.
#include "solve_blocks.hpp"

namespace lu {

void cpu_solve_refined(const SolveProblem& p, Solution& x, Stopwatch& watch) {
    watch.tile(solve_rows);
    SolveProblem correction{p.n, p.count, {}, p.factors, {}};
    const auto solve = [&] {
        x = permuted(p);
        solve_in_blocks(p.factors, x, p.count);
        correction.b = residual_of(p, x);
        Solution d = permuted(correction);
        solve_in_blocks(p.factors, d, p.count);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += d[i];
    };
    watch.time(solve, gpulab::poisoning(x));
}

} // namespace lu
