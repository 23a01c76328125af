// Rung 4: the update of cpu_blocked on all cores.
//
// Changed: exchanges and triangular solve are distributed over the threads by columns, the update by rows, so no two
// threads write the same element. One thread factorises the panel while the others wait.
// Limit: Amdahl's law. One thread does the panels, about 32 n^2 of 2/3 n^3 operations, and loads a cache line for each
// element of a column.
#include "blocks.hpp"
#include "gpulab/parallel.hpp"
#include "lu.hpp"

namespace lu {

namespace {

void eliminate(Factors& f, bool pivoting) {
    const std::size_t n = f.n;
    for (std::size_t k0 = 0; k0 < n; k0 += block_columns) {
        const std::size_t k1 = std::min(k0 + block_columns, n);
        factorise_panel(f, k0, k1, pivoting);
        gpulab::for_ranges(n - (k1 - k0), 256, [&](std::size_t begin, std::size_t end) {
            // The columns that are not in the panel, counted without it.
            exchange_rows(f, k0, k1, std::min(begin, k0), std::min(end, k0));
            const std::size_t right = std::max(begin, k0) + (k1 - k0), right_end = std::max(end, k0) + (k1 - k0);
            exchange_rows(f, k0, k1, right, right_end);
            solve_rows_of_u(f, k0, k1, right, right_end);
        });
        gpulab::for_ranges(n - k1, 32,
                           [&](std::size_t begin, std::size_t end) { update(f, k0, k1, k1 + begin, k1 + end); });
    }
}

void factorise(const Problem& p, Factors& f, Stopwatch& watch, bool pivoting) {
    watch.tile(block_columns).tile(block_rows).tile(32).tile(256);
    watch.time([&] { eliminate(f, pivoting); }, [&] { restore(p, f); });
    check_pivots(f, pivoting);
}

} // namespace

void cpu_threads(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, false); }
void cpu_threads_pivot(const Problem& p, Factors& f, Stopwatch& watch) { factorise(p, f, watch, true); }

} // namespace lu
