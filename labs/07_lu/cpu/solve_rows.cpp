// Solver 1: substitution, an unknown at a time. (Alfaro Vigo & Rossetto, section 3.3)
//
// L Y = P B from the top down, U X = Y from the bottom up. Each unknown needs all those before it.
// Limit: memory. Each number of the factors is loaded for two operations per right-hand side.
#include "solve.hpp"

namespace lu {

void cpu_solve_rows(const SolveProblem& p, Solution& x, Stopwatch& watch) {
    const std::size_t n = p.n, count = p.count;
    const double* const a = p.factors.lu.data();
    const auto solve = [&] {
        x = permuted(p);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < i; ++j)
                for (std::size_t c = 0; c < count; ++c) x[i * count + c] -= a[i * n + j] * x[j * count + c];
        for (std::size_t i = n; i-- > 0;) {
            for (std::size_t j = i + 1; j < n; ++j)
                for (std::size_t c = 0; c < count; ++c) x[i * count + c] -= a[i * n + j] * x[j * count + c];
            for (std::size_t c = 0; c < count; ++c) x[i * count + c] /= a[i * n + i];
        }
    };
    watch.time(solve, gpulab::poisoning(x));
}

} // namespace lu
