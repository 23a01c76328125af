// Rung 6: one launch for all steps; the grid stays on the chip.
//
// Changed: each block loads its tile into shared memory once, and writes it once, after the last step. In between,
// blocks exchange what is near their borders: after every four steps a block writes the outer four rows and columns
// of its tile to global memory, all blocks wait for each other (grid.sync()), and it reads its neighbours' numbers
// around its tile. Within these four steps the ring around the tile shrinks by one cell per step, as in cuda_steps.
// New in the code: a cooperative launch promises that all blocks run at the same time; only then may they wait for
// each other. So there are at most as many blocks as fit on the device, and the whole grid must fit into their
// shared memory. Two sets of arrays take turns, because a fast block may write its next numbers while a slow one
// still reads.
// Limit: for small grids, barriers: two per step within a block, one per four steps in the grid. For large grids,
// shared memory.
#include <algorithm>
#include <cooperative_groups.h>
#include <string>

#include "device.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/error.hpp"

namespace fdtd {

namespace {
constexpr int ring = 4; // steps between two exchanges, and cells around a tile
constexpr unsigned persistent_threads = 512;
} // namespace

/// A cooperative launch with blocks that cover (nx + 1) x (ny + 1) cells in tiles of tile_x x tile_y.
/// Dynamic shared memory: 3 arrays (4 with layers) of (tile_x + 2 ring) x (tile_y + 2 ring) numbers.
/// @param start read before the first step
/// @param even,odd the arrays for the exchange after passes 0, 2, ... and 1, 3, ...; the result is in those that the
///        last pass would use
template <class T>
__global__ void __launch_bounds__(persistent_threads)
    persistent_kernel(const __grid_constant__ View<T> g, FieldPointers<T> start, FieldPointers<T> even,
                      FieldPointers<T> odd, int tile_x, int tile_y) {
    extern __shared__ double raw[]; // double: aligned for float and for double
    const Rules<T>& r = g.rules;
    const int width = tile_x + 2 * ring, height = tile_y + 2 * ring, cells = width * height;
    T* const u = reinterpret_cast<T*>(raw);
    T* const p = u + cells;
    T* const q = p + cells;
    T* const v = q + cells;                                       // only with layers
    const int x0 = blockIdx.x * tile_x, y0 = blockIdx.y * tile_y; // the tile's first cell
    const int x1 = min(x0 + tile_x, r.nx + 1), y1 = min(y0 + tile_y, r.ny + 1);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = persistent_threads / 32;

    // Calls body(i, j, c) for the cells [bx0, bx1) x [by0, by1), c being the place in shared memory: a warp takes a
    // row.
    const auto each = [&](int bx0, int by0, int bx1, int by1, const auto& body) {
        for (int j = by0 + warp; j < by1; j += warps)
            for (int i = bx0 + lane; i < bx1; i += 32) body(i, j, (j - y0 + ring) * width + (i - x0 + ring));
    };
    const auto load = [&](const FieldPointers<T>& f, int i, int j, int c) {
        const std::size_t at = std::size_t(j) * r.pitch + i;
        const bool cell = i < r.nx && j < r.ny;
        u[c] = cell ? f.u[at] : T(0);
        p[c] = i < r.nx ? f.p[at] : T(0);
        q[c] = j < r.ny ? f.q[at] : T(0);
        if (r.layers) v[c] = cell && in_layer(g, i, j) ? f.v[at] : T(0);
    };
    const auto store = [&](const FieldPointers<T>& f, int i, int j, int c) {
        const std::size_t at = std::size_t(j) * r.pitch + i;
        if (i < r.nx && j < r.ny) f.u[at] = u[c];
        if (i < r.nx) f.p[at] = p[c];
        if (j < r.ny) f.q[at] = q[c];
        if (i < r.nx && j < r.ny && in_layer(g, i, j)) f.v[at] = v[c];
    };
    // The tile and the ring, as far as there are cells.
    const int ring_x0 = max(x0 - ring, 0), ring_y0 = max(y0 - ring, 0);
    const int ring_x1 = min(x1 + ring, r.nx + 1), ring_y1 = min(y1 + ring, r.ny + 1);

    each(ring_x0, ring_y0, ring_x1, ring_y1, [&](int i, int j, int c) { load(start, i, j, c); });
    __syncthreads();
    int pass = 0;
    for (int first = 0; first < r.steps; first += ring, ++pass) {
        const int count = min(ring, r.steps - first);
        for (int t = 0; t < count; ++t) { // right so far: the tile and ring - t cells around it
            const int out = ring - t, step = first + t;
            // U needs Q to the right and P above: one row and column less at those sides.
            each(max(x0 - out, 0), max(y0 - out, 0), min(x1 + out - 1, r.nx), min(y1 + out - 1, r.ny),
                 [&](int i, int j, int c) {
                     T part = r.layers ? v[c] : T(0);
                     const T next = next_u(g, i, j, u[c], part, p[c], p[c + width], q[c], q[c + 1], step);
                     u[c] = next;
                     if (r.layers) v[c] = part;
                     if (i >= x0 && i < x1 && j >= y0 && j < y1) record(g, i, j, next, step);
                 });
            __syncthreads(); // U is complete
            // P and Q need U to the left and below: one less at the other sides, too.
            each(max(x0 - out + 1, 0), max(y0 - out + 1, 0), min(x1 + out - 1, r.nx), min(y1 + out - 1, r.ny),
                 [&](int i, int j, int c) {
                     if (j > 0) p[c] = next_p(g, i, j, p[c], u[c], u[c - width], step);
                     if (i > 0) q[c] = next_q(g, i, j, q[c], u[c], u[c - 1], step);
                 });
            __syncthreads(); // P and Q are complete
        }
        if (first + ring >= r.steps) break;
        const FieldPointers<T>& exchange = pass % 2 == 0 ? even : odd;
        each(x0, y0, x1, y1, [&](int i, int j, int c) {
            if (i < x0 + ring || i >= x1 - ring || j < y0 + ring || j >= y1 - ring) store(exchange, i, j, c);
        });
        cooperative_groups::this_grid().sync(); // all blocks have written
        each(ring_x0, ring_y0, ring_x1, ring_y1, [&](int i, int j, int c) {
            if (i < x0 || i >= x1 || j < y0 || j >= y1) load(exchange, i, j, c);
        });
        __syncthreads();
    }
    const FieldPointers<T>& result = pass % 2 == 0 ? even : odd;
    each(x0, y0, x1, y1, [&](int i, int j, int c) { store(result, i, j, c); });
}

namespace {

/// Tiles so that the grid has at most so many of them, and a tile with its ring as few cells as possible.
struct Tiles {
    int x = 0, y = 0;
    std::size_t cells = 0; ///< of a tile with its ring; 0: none found
};
Tiles tiles_for(int columns, int rows, int blocks) {
    Tiles best;
    for (int across = 1; across <= blocks; ++across) {
        const int x = static_cast<int>(gpulab::ceil_div(std::size_t(columns), std::size_t(across)));
        const int y = static_cast<int>(gpulab::ceil_div(std::size_t(rows), std::size_t(blocks / across)));
        const std::size_t cells = std::size_t(x + 2 * ring) * std::size_t(y + 2 * ring);
        if (best.cells == 0 || cells < best.cells) best = {x, y, cells};
    }
    return best;
}

} // namespace

template <class T> void cuda_persistent(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const Rules<T>& r = p.rules;
    int device = 0, most_shared = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const Tiles tiles = tiles_for(r.nx + 1, r.ny + 1, static_cast<int>(gpulab::multiprocessor_count()));
    const std::size_t shared = (r.layers ? 4 : 3) * tiles.cells * sizeof(T);
    if (shared > static_cast<std::size_t>(most_shared))
        throw gpulab::Unsupported(std::to_string(r.nx) + " x " + std::to_string(r.ny) +
                                  " cells do not fit into its shared memory");
    const auto kernel = persistent_kernel<T>;
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    const dim3 grid(gpulab::grid_size(p.nx() + 1, unsigned(tiles.x)), gpulab::grid_size(p.ny() + 1, unsigned(tiles.y)));
    if (grid.x * grid.y > gpulab::resident_blocks(kernel, persistent_threads, shared))
        throw gpulab::Unsupported("the blocks of one launch do not all fit on this device");
    watch.tile(std::size_t(tiles.x), "nx"), watch.tile(std::size_t(tiles.y), "ny"), watch.tile(ring, "steps");
    run_in_turns(p, out, watch, [&](cudaStream_t stream, View<T> g, FieldPointers<T> one, FieldPointers<T> other) {
        int x = tiles.x, y = tiles.y;
        FieldPointers<T> odd = one; // free after the first exchange, when all blocks have read the start
        void* arguments[] = {&g, &one, &other, &odd, &x, &y};
        CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, dim3(persistent_threads),
                                               arguments, shared, stream));
        const int passes = (r.steps + ring - 1) / ring;
        return (passes - 1) % 2 == 0;
    });
}

template void cuda_persistent(const Problem<float>&, Output<float>&, Stopwatch&);
template void cuda_persistent(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
