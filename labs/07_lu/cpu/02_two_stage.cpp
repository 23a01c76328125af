// Rung 2: each step in two stages. (Alfaro Vigo & Rossetto, section 3.3)
//
// Changed: first all of column i is divided by the pivot, then all of the submatrix is updated. Within a stage no
// element depends on another one of the same stage, so each stage can run in parallel. The stages become the two
// kernels of the GPU.
// Limit: memory, as before. On one core nothing is gained: the column, with one element per cache line, is read twice.
#include <algorithm>

#include "lu.hpp"
#include "pivoting.hpp"

namespace lu {

namespace {

void eliminate(Factors& f, bool pivoting) {
    const std::size_t n = f.n;
    double* const a = f.lu.data();
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t best = pivoting ? pivot_row(f, i) : i;
        f.pivots[i] = static_cast<std::int32_t>(best);
        if (best != i) std::swap_ranges(a + i * n, a + (i + 1) * n, a + best * n);

        for (std::size_t j = i + 1; j < n; ++j) a[j * n + i] /= a[i * n + i];

        for (std::size_t j = i + 1; j < n; ++j) {
            const double factor = a[j * n + i];
            for (std::size_t k = i + 1; k < n; ++k) a[j * n + k] -= factor * a[i * n + k];
        }
    }
}

void factorise(const Problem& p, Factors& f, Stopwatch& watch, bool pivoting) {
    watch.time([&] { eliminate(f, pivoting); }, [&] { restore(p, f); });
    check_pivots(f, pivoting);
}

} // namespace

void cpu_two_stage(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, false); }
void cpu_two_stage_pivot(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, true); }

} // namespace lu
