// Rung 1: right-looking elimination, in place. (Alfaro Vigo & Rossetto, section 3.3)
//
// Step i subtracts multiples of row i from all rows below, so that column i becomes zero there. The multipliers are L
// and take the place of the zeros. With partial pivoting the row whose element in column i is the largest in magnitude
// is exchanged with row i before that, so that no multiplier is larger than 1.
// Limit: memory. Each step passes over the whole submatrix for two operations per element, and a large one does not
// stay in the cache from step to step.
#include <algorithm>

#include "lu.hpp"
#include "pivoting.hpp"

namespace lu {

namespace {

void eliminate(Factors& f, bool pivoting) {
    const std::size_t n = f.n;
    for (std::size_t i = 0; i < n; ++i) {
        double* const row_i = f.lu.data() + i * n;
        const std::size_t best = pivoting ? pivot_row(f, i) : i;
        f.pivots[i] = static_cast<std::int32_t>(best);
        if (best != i) std::swap_ranges(row_i, row_i + n, f.lu.data() + best * n);
        for (std::size_t j = i + 1; j < n; ++j) {
            double* const row_j = f.lu.data() + j * n;
            row_j[i] /= row_i[i];
            for (std::size_t k = i + 1; k < n; ++k) row_j[k] -= row_j[i] * row_i[k];
        }
    }
}

void factorise(const Problem& p, Factors& f, Stopwatch& watch, bool pivoting) {
    watch.time([&] { eliminate(f, pivoting); }, [&] { restore(p, f); }); // it works in place: it needs the matrix again
    check_pivots(f, pivoting);
}

} // namespace

void cpu_right_looking(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, false); }
void cpu_right_looking_pivot(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, true); }

} // namespace lu
