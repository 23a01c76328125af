// Rung 7: one launch for all steps; the grid stays on the chip.
//
// Changed: each block loads its tile into shared memory once, and writes it once, after the last step. In between,
// blocks exchange the cells near their borders: after every four steps a block writes the outer four rows and columns
// of its tile to global memory, waits for its eight neighbours, and reads their numbers into a ring around its tile.
// During the next four steps the ring becomes wrong from the outside in, by one cell per step, as in cuda_steps; the
// tile remains right.
// A thread stays in one column of the tile and takes its rows at a fixed interval. Facts about the column are looked up
// once.
// New in the code: a cooperative launch guarantees that all blocks run at the same time; only then may they wait for
// each other. So there are at most as many blocks as fit on the device, and the whole grid must fit into their
// shared memory. A block waits by reading a number that its neighbour raises after each exchange (a flag): the store
// is a release, the load an acquire, so a block that sees the flag also sees what was written before it. A barrier over
// the grid would wait for all blocks instead of eight. Two sets of arrays take turns, because a fast block may write
// its next numbers while a slow one still reads.
// Limit: on small grids, the flags and the barriers, two per step within a block. On large grids, the size of shared
// memory.
#include <algorithm>
#include <cuda/atomic>
#include <string>

#include "device.hpp"
#include "facts.cuh"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/error.hpp"

namespace fdtd {

namespace {
constexpr int ring = 4; // steps between two exchanges, and cells around a tile
constexpr unsigned persistent_threads = 1024;

/// Numbers of one array in shared memory: the tile, its ring, and one more row below and above, so that neighbours of
/// the outermost cells can be read.
__host__ __device__ constexpr int shared_numbers(int tile_x, int tile_y) {
    return (tile_x + 2 * ring) * (tile_y + 2 * ring + 2);
}

/// Waits until the eight neighbours of this block have raised their flags to `value`.
__device__ void wait_for_neighbours(unsigned* flags, unsigned value) {
    if (threadIdx.x < 9) {
        const int x = int(blockIdx.x) + int(threadIdx.x % 3) - 1, y = int(blockIdx.y) + int(threadIdx.x / 3) - 1;
        if (x >= 0 && y >= 0 && x < int(gridDim.x) && y < int(gridDim.y)) {
            ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device> flag(flags[y * gridDim.x + x]);
            while (flag.load(::cuda::memory_order_acquire) < value) {
            }
        }
    }
    __syncthreads();
}
} // namespace

/// A cooperative launch with blocks that cover (nx + 1) x (ny + 1) cells in tiles of tile_x x tile_y. A row of a tile
/// with its ring is no longer than a block. Dynamic shared memory: 3 arrays (4 with layers) of shared_numbers().
/// @param start read before the first step
/// @param even,odd the arrays for the exchange after passes 0, 2, ... and 1, 3, ...; the result is in those that the
///        last pass would use
/// @param flags one per block, 0 before the launch
template <bool mapped, bool layers, class T>
__global__ void __launch_bounds__(persistent_threads, 1)
    persistent_kernel(const __grid_constant__ View<T> g, FieldPointers<T> start, FieldPointers<T> even,
                      FieldPointers<T> odd, unsigned* flags, int tile_x, int tile_y) {
    extern __shared__ double raw[]; // double: aligned for float and for double
    const Rules<T>& r = g.rules;
    const int width = tile_x + 2 * ring, height = tile_y + 2 * ring, numbers = shared_numbers(tile_x, tile_y);
    T* const u = reinterpret_cast<T*>(raw) + width;                           // after the extra row
    T *const p = u + numbers, *const q = p + numbers, *const v = q + numbers; // v: only with layers
    for (int c = threadIdx.x; c < (layers ? 4 : 3) * numbers; c += persistent_threads) (u - width)[c] = 0;

    const int x0 = blockIdx.x * tile_x, y0 = blockIdx.y * tile_y; // the tile's first cell
    const int x1 = min(x0 + tile_x, r.nx + 1), y1 = min(y0 + tile_y, r.ny + 1);
    const int left = x0 - ring, bottom = y0 - ring;
    // The thread's column, its first row in the tile with the ring, and the rows from one of its cells to the next.
    const int i = left + int(threadIdx.x) % width, first_y = int(threadIdx.x) / width;
    const int every = int(persistent_threads) / width;
    const ColumnFacts<T> column = facts_of_column<layers>(g, i);
    bool driven_here = false, probed_here = false; // a source in the tile or its ring, a probe in the tile
    for (int s = 0; s < r.sources; ++s) {
        const Box b = patch_of(g, s).box;
        driven_here |= left < b.x1 && left + width > b.x0 && bottom < b.y1 && bottom + height > b.y0;
    }
    for (int s = 0; s < r.probes; ++s) probed_here |= inside(Box{x0, y0, x1, y1}, g.probes[s].x, g.probes[s].y);

    // Calls body(j, c) for the thread's cells, c being the place in shared memory; neighbouring threads have
    // neighbouring places.
    const auto each = [&](const auto& body) {
        if (first_y >= every) return; // threads left over
        for (int y = first_y, c = threadIdx.x; y < height; y += every, c += every * width) body(bottom + y, c);
    };
    const auto in_tile = [&](int j) { return i >= x0 && i < x1 && j >= y0 && j < y1; };
    const auto load = [&](const FieldPointers<T>& f, int j, int c) {
        if (i < 0 || i > r.nx || j < 0 || j > r.ny) return;
        const std::size_t at = std::size_t(j) * r.pitch + i;
        const bool cell = i < r.nx && j < r.ny;
        if (cell) u[c] = f.u[at];
        if (i < r.nx) p[c] = f.p[at];
        if (j < r.ny) q[c] = f.q[at];
        if constexpr (layers)
            if (cell && in_layer(g, i, j)) v[c] = f.v[at];
    };
    const auto store = [&](const FieldPointers<T>& f, int j, int c) {
        const std::size_t at = std::size_t(j) * r.pitch + i;
        const bool cell = i < r.nx && j < r.ny;
        if (cell) f.u[at] = u[c];
        if (i < r.nx) f.p[at] = p[c];
        if (j < r.ny) f.q[at] = q[c];
        if constexpr (layers)
            if (cell && in_layer(g, i, j)) f.v[at] = v[c];
    };
    // Where the media of a cell are; for cells outside the grid, those of one at its border.
    const auto medium_at = [&](int j) { return std::size_t(min(max(j, 0), r.ny)) * r.pitch + min(max(i, 0), r.nx); };

    __syncthreads(); // the zeros are there
    each([&](int j, int c) { load(start, j, c); });
    __syncthreads();
    unsigned pass = 0;
    for (int first = 0; first < r.steps; first += ring, ++pass) {
        for (int step = first; step < min(first + ring, r.steps); ++step) {
            each([&](int j, int c) {
                const RowFacts<T> row = facts_of_row<layers>(g, j);
                const Coefficients<T> k = mapped ? medium_u(g, medium_at(j)) : r.u;
                T part = layers ? v[c] : T(0);
                T next = step_u<layers>(column, row, k, u[c], part, p[c], p[c + width], q[c + 1] - q[c]);
                if (driven_here && inside(r.driven, i, j))
                    next = driven(g, 0, i, j, next, k.add, column.u && row.u, step);
                if (probed_here && in_tile(j)) record(g, i, j, next, step);
                u[c] = next;
                if constexpr (layers) v[c] = part;
            });
            __syncthreads(); // U is complete
            each([&](int j, int c) {
                const RowFacts<T> row = facts_of_row<layers>(g, j);
                const Coefficients<T> kp = mapped ? medium_p(g, medium_at(j)) : r.e;
                const Coefficients<T> kq = mapped ? medium_q(g, medium_at(j)) : r.e;
                T next_p = step_p(column, row, kp, p[c], u[c], u[c - width]);
                T next_q = step_q(column, row, kq, q[c], u[c] - u[c - 1]);
                if (driven_here && inside(r.driven, i, j)) {
                    next_p = driven(g, 1, i, j, next_p, kp.add * row.gain_p, true, step);
                    next_q = driven(g, 2, i, j, next_q, kq.add * column.gain_q, true, step);
                }
                p[c] = next_p;
                q[c] = next_q;
            });
            __syncthreads(); // P and Q are complete
        }
        if (first + ring >= r.steps) break;
        const FieldPointers<T> exchange = pass % 2 == 0 ? even : odd;
        each([&](int j, int c) {
            if (in_tile(j) && (i < x0 + ring || i >= x1 - ring || j < y0 + ring || j >= y1 - ring))
                store(exchange, j, c);
        });
        __syncthreads(); // the block has written
        if (threadIdx.x == 0)
            ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device>(flags[blockIdx.y * gridDim.x + blockIdx.x])
                .store(pass + 1, ::cuda::memory_order_release);
        wait_for_neighbours(flags, pass + 1);
        each([&](int j, int c) {
            if (!in_tile(j)) load(exchange, j, c);
        });
        __syncthreads();
    }
    const FieldPointers<T> result = pass % 2 == 0 ? even : odd;
    each([&](int j, int c) {
        if (in_tile(j)) store(result, j, c);
    });
}

namespace {

/// Tiles that cover the grid, at most `blocks` of them, with arrays in shared memory as small as possible.
struct Tiles {
    int x = 0, y = 0;
    int numbers = 0; ///< shared_numbers(); 0: none found
};
Tiles tiles_for(int columns, int rows, int blocks) {
    Tiles best;
    for (int across = 1; across <= blocks; ++across) {
        // At least as wide as the ring, so that a ring does not reach beyond the eight neighbours.
        const int x = std::max((columns + across - 1) / across, ring), down = blocks / across;
        const int y = std::max((rows + down - 1) / down, ring), numbers = shared_numbers(x, y);
        if (x + 2 * ring > int(persistent_threads)) continue;
        if (best.numbers == 0 || numbers < best.numbers) best = {x, y, numbers};
    }
    return best;
}

/// The kernel for a problem, without the features that the problem does not have.
template <class T> auto kernel_for(const Rules<T>& r) {
    if (r.mapped) return r.layers ? persistent_kernel<true, true, T> : persistent_kernel<true, false, T>;
    return r.layers ? persistent_kernel<false, true, T> : persistent_kernel<false, false, T>;
}

} // namespace

template <class T> void cuda_persistent(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const Rules<T>& r = p.rules;
    int device = 0, max_shared = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&max_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    const Tiles tiles = tiles_for(r.nx + 1, r.ny + 1, static_cast<int>(gpulab::multiprocessor_count()));
    const std::size_t shared = (r.layers ? 4 : 3) * std::size_t(tiles.numbers) * sizeof(T);
    if (tiles.numbers == 0 || shared > static_cast<std::size_t>(max_shared))
        throw gpulab::Unsupported(std::to_string(r.nx) + " x " + std::to_string(r.ny) +
                                  " cells do not fit into its shared memory");
    const auto kernel = kernel_for(r);
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    const dim3 grid(gpulab::grid_size(p.nx() + 1, unsigned(tiles.x)), gpulab::grid_size(p.ny() + 1, unsigned(tiles.y)));
    if (grid.x * grid.y > gpulab::resident_blocks(kernel, persistent_threads, shared))
        throw gpulab::Unsupported("the blocks of one launch do not all fit on this device");
    watch.tile(std::size_t(tiles.x), "nx");
    watch.tile(std::size_t(tiles.y), "ny");
    watch.tile(ring, "steps");
    gpulab::DeviceBuffer<unsigned> flags(grid.x * grid.y);
    run_in_turns(p, out, watch, [&](cudaStream_t stream, View<T> g, FieldPointers<T> one, FieldPointers<T> other) {
        int x = tiles.x, y = tiles.y;
        unsigned* all_flags = flags.data();
        FieldPointers<T> odd = one; // free after the first exchange, when the neighbours have read the start
        void* arguments[] = {&g, &one, &other, &odd, &all_flags, &x, &y};
        CUDA_CHECK(cudaMemsetAsync(flags.data(), 0, flags.bytes(), stream));
        CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, dim3(persistent_threads),
                                               arguments, shared, stream));
        const int passes = (r.steps + ring - 1) / ring;
        return (passes - 1) % 2 == 0;
    });
}

INSTANTIATE_RUNG(cuda_persistent);

} // namespace fdtd
