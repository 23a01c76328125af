// Rung 2: two kernels per step; a warp works along a row. (Alfaro Vigo & Rossetto, section 4.4.2)
//
// Changed: the layout of the arrays. threadIdx.x still counts i, but cell (i, j) is at j * pitch + i and no longer at
// i * ny + j, so the 32 threads of a warp access 32 neighbouring numbers. The pitch is nx + 1,
// rounded up to a multiple of 16 (make_problem()), so that each row begins at a multiple of 128 bytes (of 64 in float).
// The arrays also hold the edges on the border, so update_h needs no tests for missing neighbours. book.hpp has the
// equations and says which number is where.
// As before there are two kernels: E needs the new Hz of its own cell and of the cells below and to the left, which
// other threads compute; the end of a kernel is the barrier.
// cuda_coalesced has blocks of 32 x 8; cuda_block_shape takes block_x x block_y from the problem, 256 x 1 by default.
// Limit: memory. update_h reads Hz, Ex, Ey and writes Hz; update_e reads Hz, Ex, Ey and writes Ex, Ey: 9 numbers, 72
// bytes in double, per cell and step; caches serve what a neighbouring thread has read.
#include "book.hpp"
#include "fields.hpp"
#include "gpulab/error.hpp"

namespace fdtd {

/// Hz from time step n to n + 1. One thread per cell; the launch must cover all nx x ny cells.
template <class T> __global__ void update_h(Book<T> g, T* hz, const T* ex, const T* ey, T source) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.nx || j >= g.ny) return;
    const std::size_t at = std::size_t(j) * g.pitch + i;
    // EXERCISE update
    //| // TODO: Hz one time step later, from the four edges of the cell; in the source's cell it is `source`.
    //| (void)at, (void)source;
    const T h = g.a * hz[at] + (g.b_dy * (ex[at + g.pitch] - ex[at]) - g.b_dx * (ey[at + 1] - ey[at]));
    hz[at] = i == g.source_i && j == g.source_j ? source : h;
    // END EXERCISE
}

/// Ex and Ey from half a step before Hz to half a step after it. One thread per cell, as above.
template <class T> __global__ void update_e(Book<T> g, const T* hz, T* ex, T* ey) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= g.nx || j >= g.ny) return;
    const std::size_t at = std::size_t(j) * g.pitch + i;
    // EXERCISE update
    //| // TODO: Ex on the lower edge of the cell and Ey on its left edge. Edges on the border stay as they are.
    //| (void)at;
    if (j > 0) ex[at] = g.c * ex[at] + g.d_dy * (hz[at] - hz[at - g.pitch]);
    if (i > 0) ey[at] = g.c * ey[at] - g.d_dx * (hz[at] - hz[at - 1]);
    // END EXERCISE
}

namespace {

template <class T> void two_kernels(const BookProblem<T>& book, Output<T>& out, Stopwatch& watch, dim3 block) {
    if (block.x * block.y > 1024) throw gpulab::Unsupported("a block has at most 1024 threads");
    const Book<T>& g = book.g;
    const FieldBuffers<T> start(book.start);
    FieldBuffers<T> field(book.start);
    T *const hz = field.u.data(), *const ex = field.p.data(), *const ey = field.q.data(); // TE mode: book.hpp
    const dim3 grid(gpulab::grid_size(book.nx(), block.x), gpulab::grid_size(book.ny(), block.y));
    watch.tile(block.x, "nx");
    watch.tile(block.y, "ny");
    const auto launch = [&](cudaStream_t stream) {
        for (std::size_t step = 0; step < book.steps; ++step) {
            update_h<<<grid, block, 0, stream>>>(g, hz, ex, ey, book.source(step));
            update_e<<<grid, block, 0, stream>>>(g, hz, ex, ey);
        }
    };
    const auto reset = [&](cudaStream_t stream) { copy_async(start, field, stream); };
    gpulab::watch_stream(watch, launch, reset); // before each run: the steps have overwritten it
    field.copy_to(out.field);
}

} // namespace

template <class T> void cuda_coalesced(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    two_kernels(book_of(p), out, watch, dim3(32, 8));
}

template <class T> void cuda_block_shape(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    two_kernels(book, out, watch, dim3(book.block_x, book.block_y));
}

INSTANTIATE_RUNG(cuda_coalesced);
INSTANTIATE_RUNG(cuda_block_shape);

} // namespace fdtd
