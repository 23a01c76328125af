// Rung 3: in blocks. (Alfaro Vigo & Rossetto, section 3.3; Golub and Van Loan, section 3.4)
//
// Changed: 64 columns, the panel, are eliminated first, as in cpu_two_stage. Its row exchanges are applied to the other
// columns, a triangular solve gives 64 rows of U, and then the rest of the matrix is updated once: A22 - L21 U12, a
// matrix product. An element of the submatrix is read from memory once for 128 operations instead of two.
// Limit: one core, and a matrix product that is not packed (see lab 03).
#include "blocks.hpp"
#include "lu.hpp"
#include "studies.hpp"

namespace lu {

namespace {

void eliminate(Factors& f, bool pivoting, std::size_t width) {
    const std::size_t n = f.n;
    for (std::size_t k0 = 0; k0 < n; k0 += width) {
        const std::size_t k1 = std::min(k0 + width, n);
        factorise_panel(f, k0, k1, pivoting);
        exchange_rows(f, k0, k1, 0, k0); // L, left of the panel
        exchange_rows(f, k0, k1, k1, n);
        solve_rows_of_u(f, k0, k1, k1, n);
        update(f, k0, k1, k1, n);
    }
}

void factorise(const Problem& p, Factors& f, Stopwatch& watch, bool pivoting, std::size_t width = block_columns) {
    watch.tile(width).tile(block_rows);
    watch.time([&] { eliminate(f, pivoting, width); }, [&] { restore(p, f); });
    check_pivots(f, pivoting);
}

} // namespace

void cpu_blocked(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, false); }
void cpu_blocked_pivot(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, true); }

void cpu_blocked_of_width(const Problem& p, Factors& f, Stopwatch& watch, int width) {
    factorise(p, f, watch, true, static_cast<std::size_t>(width));
}

} // namespace lu
