// Rung 5: everything that a scene may have. (Alfaro Vigo & Rossetto, section 4.2.1, exercises 4.3 and 4.4)
//
// Changed: both modes, media, absorbing layers, all boundaries, any number of sources, and probes. rules.hpp introduces
// what such a problem consists of; yee.cuh computes one number of a cell. There are two kernels, again one for U and
// one for P and Q. Blocks have block_x x block_y threads, as in cuda_block_shape, so the book's table 4.1 can be
// measured with layers.
// Limit: memory: 72 bytes per cell and step, as in cuda_coalesced, and a little more in layers.
#include "device.hpp"
#include "yee.cuh"

namespace fdtd {

/// One thread per cell; the launch must cover all nx x ny cells.
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

/// One thread for each of the (nx + 1) x (ny + 1) places that hold numbers, because a driven side sets the
/// edges on the upper and the right border, too.
template <class T> __global__ void update_edges(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > g.rules.nx || j > g.rules.ny) return;
    const std::size_t at = std::size_t(j) * g.rules.pitch + i;
    const bool column = i < g.rules.nx, row = j < g.rules.ny;
    const T u = column && row ? f.u[at] : T(0);
    if (column) f.p[at] = next_p(g, i, j, f.p[at], u, j > 0 ? f.u[at - g.rules.pitch] : T(0), step);
    if (row) f.q[at] = next_q(g, i, j, f.q[at], u, i > 0 ? f.u[at - 1] : T(0), step);
}

template <class T> void cuda_scene(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    run_in_place(p, out, watch,
                 [](cudaStream_t stream, dim3 grid, dim3 block, const View<T>& g, FieldPointers<T> f, int step) {
                     update_u<<<grid, block, 0, stream>>>(g, f, step);
                     update_edges<<<grid, block, 0, stream>>>(g, f, step);
                 });
}

#if !defined(FDTD_SCENE_INCLUDED) // rung 6 includes this file for its kernels
INSTANTIATE_RUNG(cuda_scene);
#endif

} // namespace fdtd
