// Rung 4: Hz, Ex and Ey in one kernel.
//
// Changed: a block computes Hz of its cells and keeps it in shared memory, then Ex and Ey from there, so Hz is not read
// again. Ex and Ey of a cell need Hz of the cells below and to the left. Those along the block's lower and left side
// belong to other blocks, for which this block cannot wait, so it computes them again. Therefore the old field must
// remain until all blocks are done: the new one goes to a second set of arrays, and the two sets change places after
// each step.
// Limit: memory: 3 numbers read and 3 written, 48 bytes in double instead of 72. And still every number passes
// through memory in every step.
#include "book.hpp"
#include "fields.hpp"

namespace fdtd {

namespace {
constexpr int tile_x = 32, tile_y = 8;
}

/// One step from one field to another. Any grid; one thread for each of the (nx + 1) x (ny + 1) places that hold
/// numbers, so that the edges on the border get to the other field, too.
template <class T>
__global__ void __launch_bounds__(tile_x* tile_y)
    fused_kernel(Book<T> g, const T* hz, const T* ex, const T* ey, T* next_hz, T* next_ex, T* next_ey, T source) {
    __shared__ T hz_tile[tile_y + 1][tile_x + 1]; // row 0 and column 0: computed again
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * tile_x + x, j = blockIdx.y * tile_y + y;

    // ANSWER update
    const auto new_hz = [&](int ci, int cj) { // of cell (ci, cj)
        if (ci < 0 || cj < 0 || ci >= g.nx || cj >= g.ny) return T(0);
        const std::size_t at = std::size_t(cj) * g.pitch + ci;
        const T h = g.a * hz[at] + (g.b_dy * (ex[at + g.pitch] - ex[at]) - g.b_dx * (ey[at + 1] - ey[at]));
        return ci == g.source_i && cj == g.source_j ? source : h;
    };
    const T h = new_hz(i, j);
    hz_tile[y + 1][x + 1] = h;
    if (y == 0) hz_tile[0][x + 1] = new_hz(i, j - 1);
    if (x == 0) hz_tile[y + 1][0] = new_hz(i - 1, j);
    __syncthreads(); // Hz is complete

    const std::size_t at = std::size_t(j) * g.pitch + i;
    const bool column = i < g.nx, row = j < g.ny;
    if (column && row) next_hz[at] = h;
    if (column && j <= g.ny) {
        const T e = ex[at];
        next_ex[at] = j > 0 && row ? g.c * e + g.d_dy * (h - hz_tile[y][x + 1]) : e;
    }
    if (row && i <= g.nx) {
        const T e = ey[at];
        next_ey[at] = i > 0 && column ? g.c * e - g.d_dx * (h - hz_tile[y + 1][x]) : e;
    }
    // END ANSWER
}

template <class T> void cuda_fused(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    const Book<T>& g = book.g;
    const FieldBuffers<T> start(book.start);
    FieldBuffers<T> one(book.start), other(g.nx, g.ny, g.pitch);
    const dim3 block(tile_x, tile_y);
    const dim3 grid(gpulab::grid_size(book.nx() + 1, tile_x), gpulab::grid_size(book.ny() + 1, tile_y));
    watch.tile(tile_x, "nx");
    watch.tile(tile_y, "ny");
    const auto launch = [&](cudaStream_t stream) {
        FieldBuffers<T>*from = &one, *to = &other;
        for (std::size_t step = 0; step < book.steps; ++step) {
            fused_kernel<<<grid, block, 0, stream>>>(g, from->u.data(), from->p.data(), from->q.data(), to->u.data(),
                                                     to->p.data(), to->q.data(), book.source(step));
            std::swap(from, to);
        }
    };
    const auto reset = [&](cudaStream_t stream) {
        copy_async(start, one, stream);
        gpulab::poisoning(other.u, other.p, other.q)(stream);
    };
    gpulab::watch_stream(watch, launch, reset);
    (book.steps % 2 == 1 ? other : one).copy_to(out.field);
}

INSTANTIATE_RUNG(cuda_fused);

} // namespace fdtd
