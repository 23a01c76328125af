/// @file
/// One step of any scene: the kernels of cuda_scene, and the steps that cuda_steps leaves over.
#pragma once

#include "yee.cuh"

namespace fdtd {

/// Any grid; one thread per cell.
template <class T> __global__ void update_u(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.rules.nx || j >= g.rules.ny) return;
    const std::size_t at = std::size_t(j) * g.rules.pitch + i;
    const bool layer = in_layer(g, i, j);
    T v = layer ? f.v[at] : T(0);
    const T u = next_u(g, i, j, f.u[at], v, f.p[at], f.p[at + g.rules.pitch], f.q[at], f.q[at + 1], step);
    f.u[at] = u;
    if (layer) f.v[at] = v;
    record(g, i, j, u, step);
}

/// Any grid; one thread per cell. P in row 0 and Q in column 0 are border edges and stay.
template <class T> __global__ void update_edges(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.rules.nx || j >= g.rules.ny) return;
    const std::size_t at = std::size_t(j) * g.rules.pitch + i;
    const T u = f.u[at];
    if (j > 0) f.p[at] = next_p(g, i, j, f.p[at], u, f.u[at - g.rules.pitch], step);
    if (i > 0) f.q[at] = next_q(g, i, j, f.q[at], u, f.u[at - 1], step);
}

} // namespace fdtd
