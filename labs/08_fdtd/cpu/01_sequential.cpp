// Rung 1: one core, step after step. (Alfaro Vigo & Rossetto, sections 4.2.2 and 4.4.1)
//
// In each step all of U is computed, then all of P and Q. In TE mode U is Hz, P is Ex and Q is Ey. Neighbours along
// a row are neighbours in memory, so the compiler can compute several at once.
// Limit: the memory or the cache. A step reads U, P and Q twice and writes them once, and does 12 operations per
// cell.
#include "gpulab/poison.hpp"
#include "gpulab/stopwatch.hpp"
#include "rows.hpp"

namespace fdtd {

template <class T> void cpu_sequential(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const auto run = [&] {
        for (std::size_t step = 0; step < p.steps(); ++step) {
            for (int j = 0; j < p.rules.ny; ++j) update_u_row(p, out, j, step);
            for (int j = 0; j < p.rules.ny; ++j) update_edges_row(p, out, j, step);
        }
    };
    // The fields are computed in place, so each run begins with a fresh start.
    watch.time(run, [&] {
        out.field = p.start;
        gpulab::poison(out.recorded);
    });
}

template void cpu_sequential(const Problem<float>&, Output<float>&, Stopwatch&);
template void cpu_sequential(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
