// Rung 3: everything that a scene may have.
//
// Changed: both modes, media, absorbing layers, all boundaries, any number of sources, and probes. rules.hpp introduces
// what such a problem consists of. The loop over steps and bands is that of rung 2; cpu_scene has one thread,
// cpu_scene_threads one per core.
// Limit: memory or cache, as before; where media differ, also the look-up of a cell's coefficients.
#include <algorithm>
#include <barrier>
#include <cstddef>

#include "fdtd.hpp"
#include "gpulab/device.hpp"
#include "gpulab/poison.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/threads.hpp"

namespace fdtd {

namespace {

/// Applies the sources to row j of the array of a component (0 z, 1 x, 2 y): a hard one sets the number, a soft one
/// adds gain(i) times its value. Sources act in the order of the scene. Edges on the border belong to driven sides
/// only.
template <class T, class Gain>
void drive_row(const Problem<T>& p, int component, int j, T* row, std::size_t step, const Gain& gain) {
    const Rules<T>& r = p.rules;
    if (j < r.driven.y0 || j >= r.driven.y1) return;
    const auto border = [&](int i) {
        return (component == 1 && (j == 0 || j == r.ny)) || (component == 2 && (i == 0 || i == r.nx));
    };
    const auto may_add = [&](int i) { return component != 0 || r.change.holds(i, j); };
    for (int s = 0; s < r.sources; ++s) {
        const Patch& patch = p.patches[static_cast<std::size_t>(s)];
        const Box& b = patch.box;
        if (j < b.y0 || j >= b.y1) continue;
        const T value = p.values[static_cast<std::size_t>(s) * p.steps() + step];
        for (int i = b.x0; i < b.x1; ++i) {
            if (patch.component != (border(i) ? component + 2 : component)) continue;
            T x = value;
            if (patch.strengths >= 0) {
                const auto in_box = std::int64_t{j - b.y0} * (b.x1 - b.x0) + (i - b.x0);
                x *= p.strengths[static_cast<std::size_t>(patch.strengths + in_box)];
            }
            if (patch.hard) row[i] = x;
            else if (may_add(i)) row[i] += gain(i) * x;
        }
    }
}

/// U of row j from time step to step + 1.
template <class T> void update_u_row(const Problem<T>& p, Output<T>& out, int j, std::size_t step) {
    const Rules<T>& r = p.rules;
    const std::size_t at = static_cast<std::size_t>(j) * p.pitch();
    T* const u = out.field.u.data() + at;
    const T* const q = out.field.q.data() + at;
    const T* const p0 = out.field.p.data() + at;
    const T* const p1 = p0 + p.pitch();
    const auto medium = [&](int i) {
        if (!r.mapped) return r.u;
        const std::size_t cell = at + static_cast<std::size_t>(i);
        return p.table[r.graded ? cell : p.map[cell]];
    };

    if (j >= r.change.y0 && j < r.change.y1) {
        const bool row_in_layer = j < r.inner.y0 || j >= r.inner.y1;
        const int first = row_in_layer ? r.nx : r.inner.x0, last = row_in_layer ? r.nx : r.inner.x1;
        const auto in_layer = [&](int i) { // U in two parts
            const Coefficients<T> k = medium(i);
            const T* const columns = p.layers.data();
            const T* const rows = columns + 4 * (p.nx() + 1);
            const auto n = static_cast<std::ptrdiff_t>(r.nx) + 1, m = static_cast<std::ptrdiff_t>(r.ny) + 1;
            T& v = out.field.v[at + static_cast<std::size_t>(i)];
            const T from_x = k.keep * columns[i] * v - k.x * columns[n + i] * (q[i + 1] - q[i]);
            const T from_y = k.keep * rows[j] * (u[i] - v) + k.y * rows[m + j] * (p1[i] - p0[i]);
            v = from_x;
            u[i] = from_x + from_y;
        };
        const int x0 = r.change.x0, x1 = r.change.x1;
        const int begin = std::max(x0, std::min(first, x1)), end = std::max(begin, std::min(last, x1));
        for (int i = x0; i < begin; ++i) in_layer(i);
        if (r.mapped) {
            for (int i = begin; i < end; ++i) {
                const Coefficients<T> k = medium(i);
                u[i] = k.keep * u[i] + (k.y * (p1[i] - p0[i]) - k.x * (q[i + 1] - q[i]));
            }
        } else { // the compiler vectorises this loop
            const Coefficients<T> k = r.u;
            for (int i = begin; i < end; ++i) u[i] = k.keep * u[i] + (k.y * (p1[i] - p0[i]) - k.x * (q[i + 1] - q[i]));
        }
        for (int i = end; i < x1; ++i) in_layer(i);
    }
    if (r.sources) drive_row(p, 0, j, u, step, [&](int i) { return medium(i).add; });
    for (int s = 0; s < r.probes; ++s)
        if (const ProbeCell& probe = p.probes[static_cast<std::size_t>(s)]; probe.y == j)
            out.recorded[step * static_cast<std::size_t>(r.probes) + static_cast<std::size_t>(s)] = u[probe.x];
}

/// P and Q of row j, half a step later. @pre U of rows j and j - 1 is done
template <class T> void update_edges_row(const Problem<T>& p, Output<T>& out, int j, std::size_t step) {
    const Rules<T>& r = p.rules;
    const std::size_t at = static_cast<std::size_t>(j) * p.pitch(), size = p.array_size();
    const T* const u = out.field.u.data() + at;
    T* const q = out.field.q.data() + at;
    T* const edge = out.field.p.data() + at;
    const T* const columns = p.layers.data() + 2 * (p.nx() + 1); // for Q: keep, then gain
    const T* const rows = p.layers.data() + 4 * (p.nx() + 1) + 2 * (p.ny() + 1);
    const auto n = static_cast<std::ptrdiff_t>(r.nx) + 1, m = static_cast<std::ptrdiff_t>(r.ny) + 1;
    const T keep_y = r.layers ? rows[j] : T{1}, gain_y = r.layers ? rows[m + j] : T{1};
    const auto medium = [&](std::size_t component, int i) {
        if (!r.mapped) return r.e;
        const std::size_t place = component * size + at + static_cast<std::size_t>(i);
        return p.table[r.graded ? place : static_cast<std::size_t>(r.materials_u) + p.map[place]];
    };

    if (j > 0) { // row 0 of P is the border
        const T* const below = u - p.pitch();
        if (r.mapped) {
            for (int i = 0; i < r.nx; ++i) {
                const Coefficients<T> k = medium(1, i);
                edge[i] = k.keep * keep_y * edge[i] + k.y * gain_y * (u[i] - below[i]);
            }
        } else {
            const T keep = r.e.keep * keep_y, y = r.e.y * gain_y;
            for (int i = 0; i < r.nx; ++i) edge[i] = keep * edge[i] + y * (u[i] - below[i]);
        }
    }
    if (r.mapped || r.layers) {
        for (int i = 1; i < r.nx; ++i) {
            const Coefficients<T> k = medium(2, i);
            const T keep_x = r.layers ? columns[i] : T{1}, gain_x = r.layers ? columns[n + i] : T{1};
            q[i] = k.keep * keep_x * q[i] - k.x * gain_x * (u[i] - u[i - 1]);
        }
    } else {
        const Coefficients<T> k = r.e;
        for (int i = 1; i < r.nx; ++i) q[i] = k.keep * q[i] - k.x * (u[i] - u[i - 1]);
    }
    if (r.sources) {
        drive_row(p, 1, j, edge, step, [&](int i) { return medium(1, i).add * gain_y; });
        drive_row(p, 2, j, q, step, [&](int i) { return medium(2, i).add * (r.layers ? columns[n + i] : T{1}); });
        if (j + 1 == r.ny) drive_row(p, 1, r.ny, edge + r.pitch, step, [](int) { return T{0}; }); // the upper border
    }
}

template <class T> void in_bands(const Problem<T>& p, Output<T>& out, Stopwatch& watch, int threads) {
    threads = std::min(threads, p.rules.ny);
    const auto run = [&] {
        std::barrier all(threads);
        const auto work = [&](int t) {
            const int begin = static_cast<int>(std::int64_t{p.rules.ny} * t / threads);
            const int end = static_cast<int>(std::int64_t{p.rules.ny} * (t + 1) / threads);
            for (std::size_t step = 0; step < p.steps(); ++step) {
                for (int j = begin; j < end; ++j) update_u_row(p, out, j, step);
                all.arrive_and_wait(); // U is complete
                for (int j = begin; j < end; ++j) update_edges_row(p, out, j, step);
                all.arrive_and_wait(); // P and Q are complete
            }
        };
        gpulab::in_team(threads, all, work);
    };
    watch.time(run, [&] {
        out.field = p.start;
        gpulab::poison(out.recorded);
    });
}

} // namespace

template <class T> void cpu_scene(const Problem<T>& p, Output<T>& out, Stopwatch& watch) { in_bands(p, out, watch, 1); }

template <class T> void cpu_scene_threads(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    watch.tile(static_cast<std::size_t>(gpulab::hardware_threads()), "ny");
    in_bands(p, out, watch, gpulab::hardware_threads());
}

INSTANTIATE_RUNG(cpu_scene);
INSTANTIATE_RUNG(cpu_scene_threads);

} // namespace fdtd
