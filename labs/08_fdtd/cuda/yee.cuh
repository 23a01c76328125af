/// @file
/// One cell of Yee's scheme on the device, shared by the CUDA rungs that compute any scene; rules.hpp says what a scene
/// consists of.
#pragma once

#include <cstddef>

#include "rules.hpp"

namespace fdtd {

__device__ inline bool inside(const Box& box, int i, int j) {
    return i >= box.x0 && i < box.x1 && j >= box.y0 && j < box.y1;
}

/// Coefficients of U, of P and of Q in a cell. @param at j * pitch + i
template <class T> __device__ Coefficients<T> medium_u(const View<T>& g, std::size_t at) {
    if (!g.rules.mapped) return g.rules.u;
    return g.table[g.rules.graded ? at : g.map[at]];
}
template <class T> __device__ Coefficients<T> medium_p(const View<T>& g, std::size_t at) {
    if (g.rules.graded) return g.table[g.plane + at];
    // EXERCISE media-and-sources
    //| // TODO: g.rules.e in a uniform medium; where g.rules.mapped, the entry of the table that the map of P names.
    //| // The map of P begins at g.map + g.plane. Index k in it means g.table[g.rules.materials_u + k].
    //| return g.rules.e;
    return g.rules.mapped ? g.table[g.rules.materials_u + g.map[g.plane + at]] : g.rules.e;
    // END EXERCISE
}
template <class T> __device__ Coefficients<T> medium_q(const View<T>& g, std::size_t at) {
    if (g.rules.graded) return g.table[2 * g.plane + at];
    // EXERCISE media-and-sources
    //| // TODO: the same for Q, whose map follows that of P.
    //| return g.rules.e;
    return g.rules.mapped ? g.table[g.rules.materials_u + g.map[2 * g.plane + at]] : g.rules.e;
    // END EXERCISE
}

template <class T> __device__ Patch patch_of(const View<T>& g, int s) {
    if (s < View<T>::few) return g.first[s];
    return g.patches[s];
}

/// The number of source s in a cell of its box.
template <class T> __device__ T source_in(const View<T>& g, int s, const Patch& patch, int i, int j, int step) {
    const T x = g.values[std::size_t(s) * g.rules.steps + step];
    if (patch.strengths < 0) return x;
    const Box& b = patch.box;
    return x * g.strengths[std::size_t(patch.strengths) + std::size_t(j - b.y0) * (b.x1 - b.x0) + (i - b.x0)];
}

/// A hard source sets the number, a soft one adds gain times its value. Sources act in the order of the scene.
/// @param may_add false in a cell whose U is given: soft sources do nothing there
template <class T>
__device__ T driven(const View<T>& g, int component, int i, int j, T value, T gain, bool may_add, int step) {
    // Only a driven side can set an edge on the border. Patch numbers these components 3 (P) and 4 (Q).
    if (component == 1 && (j == 0 || j == g.rules.ny)) component = 3;
    if (component == 2 && (i == 0 || i == g.rules.nx)) component = 4;
    // EXERCISE media-and-sources
    //| // TODO: for each source s, in order: take patch_of(g, s). If it has this component and its box holds the cell,
    //| // a hard source sets value to source_in(), a soft one adds gain * source_in() where may_add says so.
    //| (void)g, (void)component, (void)i, (void)j, (void)gain, (void)may_add, (void)step;
    const int sources = g.rules.sources; // few, and copies of the loop would cost cuda_steps registers
#pragma unroll 1
    for (int s = 0; s < sources; ++s) {
        const Patch patch = patch_of(g, s);
        if (patch.component != component || !inside(patch.box, i, j)) continue;
        const T x = source_in(g, s, patch, i, j, step);
        if (patch.hard) value = x;
        else if (may_add) value += gain * x;
    }
    // END EXERCISE
    return value;
}

/// U of cell (i, j) one time step later. For any i and j: outside the grid U stays as it is.
/// @param v the part of U that Q drives; read and changed in the absorbing layers only
/// @param p0,p1,q0,q1 the numbers on the lower, upper, left and right edge
template <class T> __device__ T next_u(const View<T>& g, int i, int j, T u, T& v, T p0, T p1, T q0, T q1, int step) {
    const Rules<T>& r = g.rules;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const bool changes = inside(r.change, i, j);
    if (changes) {
        const Coefficients<T> k = medium_u(g, at);
        const T x = k.x * (q1 - q0), y = k.y * (p1 - p0);
        if (!r.layers || inside(r.inner, i, j)) {
            u = k.keep * u + (y - x);
        } else { // U in two parts, each with its own loss
            const T* const columns = g.layers;
            const T* const rows = g.layers + 4 * (r.nx + 1);
            const T from_x = k.keep * columns[i] * v - columns[r.nx + 1 + i] * x;
            const T from_y = k.keep * rows[j] * (u - v) + rows[r.ny + 1 + j] * y;
            v = from_x;
            u = from_x + from_y;
        }
    }
    if (inside(r.driven, i, j)) u = driven(g, 0, i, j, u, medium_u(g, at).add, changes, step);
    return u;
}

/// P on the lower edge of cell (i, j), half a step after U. Edges on the border stay, unless their side is driven;
/// those outside the grid stay.
template <class T> __device__ T next_p(const View<T>& g, int i, int j, T p, T u, T u_below, int step) {
    const Rules<T>& r = g.rules;
    if (j < 0 || j > r.ny || i < 0 || i >= r.nx) return p;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const Coefficients<T> k = medium_p(g, at);
    const T* const rows = g.layers + 4 * (r.nx + 1) + 2 * (r.ny + 1);
    const T keep = r.layers ? rows[j] : T(1), gain = r.layers ? rows[r.ny + 1 + j] : T(1);
    if (j > 0 && j < r.ny) p = k.keep * keep * p + k.y * gain * (u - u_below);
    if (inside(r.driven, i, j)) p = driven(g, 1, i, j, p, k.add * gain, true, step);
    return p;
}

/// Q on the left edge of cell (i, j), half a step after U. Edges on the border and outside stay, as in next_p().
template <class T> __device__ T next_q(const View<T>& g, int i, int j, T q, T u, T u_left, int step) {
    const Rules<T>& r = g.rules;
    if (i < 0 || i > r.nx || j < 0 || j >= r.ny) return q;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const Coefficients<T> k = medium_q(g, at);
    const T* const columns = g.layers + 2 * (r.nx + 1);
    const T keep = r.layers ? columns[i] : T(1), gain = r.layers ? columns[r.nx + 1 + i] : T(1);
    if (i > 0 && i < r.nx) q = k.keep * keep * q - k.x * gain * (u - u_left);
    if (inside(r.driven, i, j)) q = driven(g, 2, i, j, q, k.add * gain, true, step);
    return q;
}

/// Whether the cell's split part v exists.
template <class T> __device__ bool in_layer(const View<T>& g, int i, int j) {
    return g.rules.layers && !inside(g.rules.inner, i, j);
}

/// Writes U of a probe's cell to the record.
template <class T> __device__ void record(const View<T>& g, int i, int j, T u, int step) {
    if (!inside(g.rules.probed, i, j)) return;
    for (int s = 0; s < g.rules.probes; ++s)
        if (g.probes[s].x == i && g.probes[s].y == j) g.recorded[std::size_t(step) * g.rules.probes + s] = u;
}

} // namespace fdtd
