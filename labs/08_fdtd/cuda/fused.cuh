/// @file
/// U, P and Q in one kernel: the rung cuda_fused, and the steps that cuda_steps leaves over.
#pragma once

#include "device.hpp"

namespace fdtd {

inline constexpr int fused_x = 32, fused_y = 8;

/// One step from one field to another; any grid, one thread per cell of the (nx + 1) x (ny + 1) that hold numbers.
///
/// P and Q of a cell need U of the cells below and to the left. Those along the block's lower and left side belong to
/// other blocks, for which this block cannot wait, so it computes them again. Therefore the old field must remain until
/// all blocks are done: the new one goes elsewhere.
template <class T>
__global__ void __launch_bounds__(fused_x* fused_y)
    fused_kernel(const __grid_constant__ View<T> g, FieldPointers<T> from, FieldPointers<T> to, int step) {
    __shared__ T u_tile[fused_y + 1][fused_x + 1]; // row 0 and column 0: computed again
    const Rules<T>& r = g.rules;
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * fused_x + x, j = blockIdx.y * fused_y + y;

    const auto compute = [&](int ci, int cj, T& v) { // U of cell (ci, cj) in the next step
        if (ci < 0 || cj < 0 || ci >= r.nx || cj >= r.ny) return T(0);
        const std::size_t at = std::size_t(cj) * r.pitch + ci;
        v = in_layer(g, ci, cj) ? from.v[at] : T(0);
        return next_u(g, ci, cj, from.u[at], v, from.p[at], from.p[at + r.pitch], from.q[at], from.q[at + 1], step);
    };
    T v = 0, other_v = 0;
    const T u = compute(i, j, v);
    u_tile[y + 1][x + 1] = u;
    if (y == 0) u_tile[0][x + 1] = compute(i, j - 1, other_v);
    if (x == 0) u_tile[y + 1][0] = compute(i - 1, j, other_v);
    __syncthreads(); // U is complete

    const std::size_t at = std::size_t(j) * r.pitch + i;
    if (i < r.nx && j < r.ny) {
        to.u[at] = u;
        if (in_layer(g, i, j)) to.v[at] = v;
        record(g, i, j, u, step);
    }
    if (i < r.nx && j <= r.ny) to.p[at] = next_p(g, i, j, from.p[at], u, u_tile[y][x + 1], step);
    if (i <= r.nx && j < r.ny) to.q[at] = next_q(g, i, j, from.q[at], u, u_tile[y + 1][x], step);
}

} // namespace fdtd
