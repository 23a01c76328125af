/// @file
/// What a thread of a wrong kernel does, on the host and on the device alike.
#pragma once

#include "cuda/yee.cuh"
#include "wrong_fdtd.hpp"

namespace fdtd::wrong {

template <Mistake m>
__device__ void body_u(const View<double>& g, const FieldPointers<double>& f, int i, int j, int step) {
    const Rules<double>& r = g.rules;
    if (i >= r.nx || j >= r.ny) return;
    if (m == Mistake::border_row_skipped && j == r.ny - 1) return;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const bool layer = in_layer(g, i, j);
    double v = layer ? f.v[at] : 0;
    if (m == Mistake::record_too_early) record(g, i, j, f.u[at], step);
    double u = 0;
    if (m == Mistake::neighbour_medium && r.mapped && !layer && inside(r.change, i, j)) {
        const Coefficients<double> k = medium_u(g, at + 1);
        u = k.keep * f.u[at] + (k.y * (f.p[at + r.pitch] - f.p[at]) - k.x * (f.q[at + 1] - f.q[at]));
        if (inside(r.driven, i, j)) u = driven(g, 0, i, j, u, k.add, true, step);
    } else {
        u = next_u(g, i, j, f.u[at], v, f.p[at], f.p[at + r.pitch], f.q[at], f.q[at + 1], step);
    }
    if (m == Mistake::source_twice && inside(r.driven, i, j))
        u = driven(g, 0, i, j, u, medium_u(g, at).add, inside(r.change, i, j), step);
    if (m == Mistake::float_numbers) u = float(u);
    f.u[at] = u;
    if (layer && m != Mistake::split_forgotten) f.v[at] = v;
    if (m != Mistake::record_too_early) record(g, i, j, u, step);
}

template <Mistake m>
__device__ void body_edges(const View<double>& g, const FieldPointers<double>& f, int i, int j, int step) {
    const Rules<double>& r = g.rules;
    if (i >= r.nx || j >= r.ny) return;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const double u = f.u[at];
    if (m == Mistake::printed_dx) { // each thread computes the edges above and to the right of its cell
        double dx_u = -u;
        const double dy_u = -u;
        if (j < r.ny - 1) {
            dx_u += f.u[at + r.pitch];
            const Coefficients<double> k = medium_p(g, at + r.pitch);
            f.p[at + r.pitch] = k.keep * f.p[at + r.pitch] + k.y * dy_u;
        }
        if (i < r.nx - 1) {
            dx_u += f.u[at + 1];
            const Coefficients<double> k = medium_q(g, at + 1);
            f.q[at + 1] = k.keep * f.q[at + 1] - k.x * dx_u;
        }
        return;
    }
    if (j > 0) f.p[at] = next_p(g, i, j, f.p[at], u, f.u[at - r.pitch], step);
    else if (m == Mistake::border_edge_moves) f.p[at] += medium_p(g, at).y * u;
    if (i > 0) f.q[at] = next_q(g, i, j, f.q[at], u, f.u[at - 1], step);
}

} // namespace fdtd::wrong
