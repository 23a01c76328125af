// Solver 3: one step of iterative refinement.
//
// Changed: the residual R = B - A X tells how far X is off; A D = R is solved with the same factors, and D is added.
// One step makes up for growth in the factors, if the condition of A leaves any digits right (Higham, section 12.1).
// Limit: three times the numbers pass: the factors twice, and A.
#include "gpulab/poisoning.hpp"
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
