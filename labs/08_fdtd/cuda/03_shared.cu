// Rung 3: tiles in shared memory. (Alfaro Vigo & Rossetto, section 4.4, which used such a version)
//
// Changed: a block loads the numbers of its 32 x 8 cells into shared memory, and one more row or column where it
// needs a neighbour: P above, Q to the right, for update_u; U below and to the left for update_edges. Each number
// then comes from global memory once per block instead of twice.
// Limit: memory, as before. The second of two neighbouring loads mostly found its number in the L1 cache, so there
// was little to save; the barrier and the copies are extra work.
#include "device.hpp"

namespace fdtd {

namespace {
constexpr int tile_x = 32, tile_y = 8;
}

template <class T>
__global__ void __launch_bounds__(tile_x* tile_y)
    shared_u(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    __shared__ T p_tile[tile_y + 1][tile_x];
    __shared__ T q_tile[tile_y][tile_x + 1];
    const Rules<T>& r = g.rules;
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * tile_x + x, j = blockIdx.y * tile_y + y;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const bool column = i < r.nx, row = j < r.ny;

    if (column && j <= r.ny) p_tile[y][x] = f.p[at];
    if (column && y == tile_y - 1 && row) p_tile[tile_y][x] = f.p[at + r.pitch];
    if (row && i <= r.nx) q_tile[y][x] = f.q[at];
    if (row && x == tile_x - 1 && column) q_tile[y][tile_x] = f.q[at + 1];
    __syncthreads(); // the tiles are complete
    if (!column || !row) return;

    // ANSWER update
    const bool layer = in_layer(g, i, j);
    T v = layer ? f.v[at] : T(0);
    const T u = next_u(g, i, j, f.u[at], v, p_tile[y][x], p_tile[y + 1][x], q_tile[y][x], q_tile[y][x + 1], step);
    f.u[at] = u;
    if (layer) f.v[at] = v;
    record(g, i, j, u, step);
    // END ANSWER
}

template <class T>
__global__ void __launch_bounds__(tile_x* tile_y)
    shared_edges(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    __shared__ T u_tile[tile_y + 1][tile_x + 1]; // row 0 and column 0 belong to the neighbours
    const Rules<T>& r = g.rules;
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * tile_x + x, j = blockIdx.y * tile_y + y;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const bool cell = i < r.nx && j < r.ny;

    if (cell) u_tile[y + 1][x + 1] = f.u[at];
    if (cell && y == 0 && j > 0) u_tile[0][x + 1] = f.u[at - r.pitch];
    if (cell && x == 0 && i > 0) u_tile[y + 1][0] = f.u[at - 1];
    __syncthreads(); // the tile is complete
    if (!cell) return;
    // ANSWER update
    const T u = u_tile[y + 1][x + 1];
    if (j > 0) f.p[at] = next_p(g, i, j, f.p[at], u, u_tile[y][x + 1], step);
    if (i > 0) f.q[at] = next_q(g, i, j, f.q[at], u, u_tile[y + 1][x], step);
    // END ANSWER
}

template <class T> void cuda_shared(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const dim3 block(tile_x, tile_y);
    const dim3 grid(gpulab::grid_size(p.nx(), tile_x), gpulab::grid_size(p.ny(), tile_y));
    watch.tile(tile_x, "nx"), watch.tile(tile_y, "ny");
    run_in_place(p, out, watch, [&](cudaStream_t stream, const View<T>& g, FieldPointers<T> field) {
        for (int step = 0; step < p.rules.steps; ++step) {
            shared_u<<<grid, block, 0, stream>>>(g, field, step);
            shared_edges<<<grid, block, 0, stream>>>(g, field, step);
        }
    });
}

template void cuda_shared(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_shared(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
