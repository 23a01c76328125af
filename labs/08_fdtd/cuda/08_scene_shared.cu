// Rung 8: any scene, with tiles in shared memory. (Alfaro Vigo & Rossetto, section 4.4)
//
// Changed: the two kernels of cuda_scene first copy into shared memory what more than one thread of a block reads, as
// cuda_shared does: for U, P of the block's cells and of the row above, and Q of its cells and of the column to the
// right; for P and Q, U of the block's cells, of the row below and of the column to the left. Blocks have block_x x
// block_y threads, so the size of the tiles is known at the launch only. This is the kind of program that the book
// measures in tables 4.1 and 4.2: media may differ, H has two parts in the layers, and the best blocks have one row.
// Limit: memory, as in cuda_scene: 72 bytes per cell and step. In a block of one row, a row of P and of U that the
// block above or below also needs is still loaded by both.
#include "device.hpp"
#include "yee.cuh"

namespace fdtd {

namespace {
// With this bound a thread gets at most 64 registers: a multiprocessor has 65,536.
constexpr int max_threads = 1024;
} // namespace

/// One thread per cell; the launch must cover all nx x ny cells.
/// Shared memory: (block_y + 1) rows of block_x numbers for P, then block_y rows of block_x + 1 for Q.
template <class T>
__global__ void __launch_bounds__(max_threads)
    shared_u(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    extern __shared__ __align__(sizeof(double)) unsigned char memory[]; // as many bytes as the launch asks for
    const Rules<T>& r = g.rules;
    const int width = blockDim.x, height = blockDim.y, x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * width + x, j = blockIdx.y * height + y;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const bool column = i < r.nx, row = j < r.ny;
    T* const p = reinterpret_cast<T*>(memory) + y * width + x;
    T* const q = reinterpret_cast<T*>(memory) + (height + 1) * width + y * (width + 1) + x;

    if (column && j <= r.ny) *p = f.p[at]; // row ny has edges, but no cells
    if (column && row && y == height - 1) p[width] = f.p[at + r.pitch];
    if (row && i <= r.nx) *q = f.q[at];
    if (row && column && x == width - 1) q[1] = f.q[at + 1];
    __syncthreads(); // the tiles of P and Q are complete
    if (!column || !row) return;

    const bool layer = in_layer(g, i, j);
    T v = layer ? f.v[at] : T(0);
    const T u = next_u(g, i, j, f.u[at], v, p[0], p[width], q[0], q[1], step);
    f.u[at] = u;
    if (layer) f.v[at] = v;
    record(g, i, j, u, step);
}

/// One thread for each of the (nx + 1) x (ny + 1) places that hold numbers: see update_edges().
/// Shared memory: (block_y + 1) rows of block_x + 1 numbers; row 0 and column 0 belong to the neighbours.
template <class T>
__global__ void __launch_bounds__(max_threads)
    shared_edges(const __grid_constant__ View<T> g, FieldPointers<T> f, int step) {
    extern __shared__ __align__(sizeof(double)) unsigned char memory[];
    const Rules<T>& r = g.rules;
    const int width = blockDim.x + 1, x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * blockDim.x + x, j = blockIdx.y * blockDim.y + y;
    const std::size_t at = std::size_t(j) * r.pitch + i;
    const bool column = i < r.nx, row = j < r.ny;
    T* const u = reinterpret_cast<T*>(memory) + (y + 1) * width + x + 1;

    if (column && row) *u = f.u[at];
    if (column && y == 0 && j > 0 && j <= r.ny) u[-width] = f.u[at - r.pitch];
    if (row && x == 0 && i > 0 && i <= r.nx) u[-1] = f.u[at - 1];
    __syncthreads(); // the tile of U is complete
    if (i > r.nx || j > r.ny) return;

    const T here = column && row ? *u : T(0);
    if (column) f.p[at] = next_p(g, i, j, f.p[at], here, j > 0 ? u[-width] : T(0), step);
    if (row) f.q[at] = next_q(g, i, j, f.q[at], here, i > 0 ? u[-1] : T(0), step);
}

template <class T> void cuda_scene_shared(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const std::size_t tiles_of_u = ((p.block_y + 1) * p.block_x + p.block_y * (p.block_x + 1)) * sizeof(T);
    const std::size_t tile_of_edges = (p.block_y + 1) * (p.block_x + 1) * sizeof(T);
    run_in_place(p, out, watch,
                 [&](cudaStream_t stream, dim3 grid, dim3 block, const View<T>& g, FieldPointers<T> f, int step) {
                     shared_u<<<grid, block, tiles_of_u, stream>>>(g, f, step);
                     shared_edges<<<grid, block, tile_of_edges, stream>>>(g, f, step);
                 });
}

INSTANTIATE_RUNG(cuda_scene_shared);

} // namespace fdtd
