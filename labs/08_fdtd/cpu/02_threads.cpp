// Rung 2: as many threads as cores, each with a band of rows.
//
// Changed: the threads live through all steps. Ex of a band's first row needs Hz of the last row of the band below, and
// Hz of its last row needs Ex of the first row of the band above. So all threads wait for each other twice per step, at
// a barrier (std::barrier). The two updates are those of rung 1.
// Limit: memory or cache, as before, but of all cores; on small grids, the two barriers per step.
#include <algorithm>
#include <barrier>

#include "book.hpp"
#include "gpulab/device.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/threads.hpp"

namespace fdtd {

namespace {

template <class T> void update_h(const Book<T>& g, Fields<T>& field, int j, T source) {
    const std::size_t row = static_cast<std::size_t>(j) * static_cast<std::size_t>(g.pitch);
    T* const hz = field.u.data() + row;
    const T *const ex = field.p.data() + row, *const ex_above = ex + g.pitch, *const ey = field.q.data() + row;
    for (int i = 0; i < g.nx; ++i)
        hz[i] = g.a * hz[i] + (g.b_dy * (ex_above[i] - ex[i]) - g.b_dx * (ey[i + 1] - ey[i]));
    if (j == g.source_j) hz[g.source_i] = source;
}

template <class T> void update_e(const Book<T>& g, Fields<T>& field, int j) {
    const std::size_t row = static_cast<std::size_t>(j) * static_cast<std::size_t>(g.pitch);
    const T *const hz = field.u.data() + row, *const hz_below = hz - g.pitch;
    T *const ex = field.p.data() + row, *const ey = field.q.data() + row;
    if (j > 0)
        for (int i = 0; i < g.nx; ++i) ex[i] = g.c * ex[i] + g.d_dy * (hz[i] - hz_below[i]);
    for (int i = 1; i < g.nx; ++i) ey[i] = g.c * ey[i] - g.d_dx * (hz[i] - hz[i - 1]);
}

} // namespace

template <class T> void cpu_threads(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    const Book<T>& g = book.g;
    const int threads = std::min(gpulab::hardware_threads(), g.ny);
    watch.tile(static_cast<std::size_t>(gpulab::hardware_threads()), "ny");
    const auto run = [&] {
        std::barrier all(threads);
        const auto work = [&](int t) {
            const int begin = static_cast<int>(std::int64_t{g.ny} * t / threads);
            const int end = static_cast<int>(std::int64_t{g.ny} * (t + 1) / threads);
            for (std::size_t step = 0; step < book.steps; ++step) {
                for (int j = begin; j < end; ++j) update_h(g, out.field, j, book.source(step));
                all.arrive_and_wait(); // Hz is complete
                for (int j = begin; j < end; ++j) update_e(g, out.field, j);
                all.arrive_and_wait(); // Ex and Ey are complete
            }
        };
        gpulab::in_team(threads, all, work);
    };
    watch.time(run, [&] { out.field = book.start; });
}

INSTANTIATE_RUNG(cpu_threads);

} // namespace fdtd
