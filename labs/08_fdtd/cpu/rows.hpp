/// @file
/// One step of some rows, for the CPU rungs.
#pragma once

#include <algorithm>
#include <cstddef>

#include "fdtd.hpp"

namespace fdtd {

/// A hard source sets the number, a soft one adds gain times its value. Sources act in the order of the scene.
template <class T>
T driven(const Problem<T>& p, int component, int i, int j, T value, T gain, bool may_add, std::size_t step) {
    const Rules<T>& r = p.rules;
    for (int s = 0; s < r.sources; ++s) {
        const Patch& patch = r.patch[s];
        const Box& b = patch.box;
        if (patch.component != component || i < b.x0 || i >= b.x1 || j < b.y0 || j >= b.y1) continue;
        const T x = p.values[static_cast<std::size_t>(s) * p.steps() + step];
        if (patch.hard) value = x;
        else if (may_add) value += gain * x;
    }
    return value;
}

/// Applies the sources of one component to row j of its array.
template <class T, class Gain>
void drive_row(const Problem<T>& p, int component, int j, T* row, std::size_t step, const Gain& gain) {
    const Rules<T>& r = p.rules;
    if (j < r.driven.y0 || j >= r.driven.y1) return;
    for (int i = r.driven.x0; i < r.driven.x1; ++i) {
        const bool border = (component == 1 && j == 0) || (component == 2 && i == 0);
        if (border) continue;
        const bool may_add =
            component != 0 || (i >= r.change.x0 && i < r.change.x1 && j >= r.change.y0 && j < r.change.y1);
        row[i] = driven(p, component, i, j, row[i], gain(i), may_add, step);
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
    const auto medium = [&](int i) { return r.mapped ? p.table[p.map[at + static_cast<std::size_t>(i)]] : r.u; };

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
        if (r.probe_y[s] == j)
            out.recorded[step * static_cast<std::size_t>(r.probes) + static_cast<std::size_t>(s)] = u[r.probe_x[s]];
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
        return p.table[static_cast<std::size_t>(r.materials_u) +
                       p.map[component * size + at + static_cast<std::size_t>(i)]];
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
    }
}

} // namespace fdtd
