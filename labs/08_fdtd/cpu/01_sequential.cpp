// Rung 1: one core, step after step. (Alfaro Vigo & Rossetto, sections 4.2.2 and 4.4.1)
//
// In each step all of Hz is computed, then all of Ex and Ey; book.hpp has the equations. Neighbours along a row are
// neighbours in memory, so the compiler can compute several at once.
// Limit: the memory or the cache. A step reads Hz, Ex and Ey twice and writes them once, and does 12 operations per
// cell.
#include "book.hpp"
#include "gpulab/stopwatch.hpp"

namespace fdtd {

namespace {

/// Hz of row j from time step n to n + 1.
template <class T> void update_h(const Book<T>& g, Fields<T>& field, int j, T source) {
    const std::size_t row = static_cast<std::size_t>(j) * static_cast<std::size_t>(g.pitch);
    T* const hz = field.u.data() + row;
    const T *const ex = field.p.data() + row, *const ex_above = ex + g.pitch, *const ey = field.q.data() + row;
    for (int i = 0; i < g.nx; ++i)
        hz[i] = g.a * hz[i] + (g.b_dy * (ex_above[i] - ex[i]) - g.b_dx * (ey[i + 1] - ey[i]));
    if (j == g.source_j) hz[g.source_i] = source;
}

/// Ex and Ey of row j, half a step later. @pre Hz of rows j and j - 1 is done
template <class T> void update_e(const Book<T>& g, Fields<T>& field, int j) {
    const std::size_t row = static_cast<std::size_t>(j) * static_cast<std::size_t>(g.pitch);
    const T *const hz = field.u.data() + row, *const hz_below = hz - g.pitch;
    T *const ex = field.p.data() + row, *const ey = field.q.data() + row;
    if (j > 0) // row 0 of Ex is the border
        for (int i = 0; i < g.nx; ++i) ex[i] = g.c * ex[i] + g.d_dy * (hz[i] - hz_below[i]);
    for (int i = 1; i < g.nx; ++i) ey[i] = g.c * ey[i] - g.d_dx * (hz[i] - hz[i - 1]);
}

} // namespace

template <class T> void cpu_sequential(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    const Book<T>& g = book.g;
    const auto run = [&] {
        for (std::size_t step = 0; step < book.steps; ++step) {
            for (int j = 0; j < g.ny; ++j) update_h(g, out.field, j, book.source(step));
            for (int j = 0; j < g.ny; ++j) update_e(g, out.field, j);
        }
    };
    // The field is computed in place, so each run begins with the start.
    watch.time(run, [&] { out.field = book.start; });
}

INSTANTIATE_RUNG(cpu_sequential);

} // namespace fdtd
