// Rung 3: tiles in shared memory. (Alfaro Vigo & Rossetto, section 4.4, which used such a version)
//
// Changed: a block loads the numbers of its 32 x 8 cells into shared memory, and one more row or column where it
// needs a neighbour: Ex above, Ey to the right, for update_h; Hz below and to the left for update_e. Each number
// then comes from global memory once per block instead of twice.
// Limit: memory, as before. The second of two neighbouring loads mostly found its number in the L1 cache, so there
// was little to save; the barrier and the copies are extra work.
#include "book.hpp"
#include "fields.hpp"

namespace fdtd {

namespace {
constexpr int tile_x = 32, tile_y = 8;
}

template <class T>
__global__ void __launch_bounds__(tile_x* tile_y) shared_h(Book<T> g, T* hz, const T* ex, const T* ey, T source) {
    __shared__ T ex_tile[tile_y + 1][tile_x];
    __shared__ T ey_tile[tile_y][tile_x + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * tile_x + x, j = blockIdx.y * tile_y + y;
    const std::size_t at = std::size_t(j) * g.pitch + i;
    const bool column = i < g.nx, row = j < g.ny;

    if (column && j <= g.ny) ex_tile[y][x] = ex[at]; // row ny has edges, but no cells
    if (column && y == tile_y - 1 && row) ex_tile[tile_y][x] = ex[at + g.pitch];
    if (row && i <= g.nx) ey_tile[y][x] = ey[at];
    if (row && x == tile_x - 1 && column) ey_tile[y][tile_x] = ey[at + 1];
    __syncthreads(); // the tiles are complete
    if (!column || !row) return;

    // ANSWER update
    const T h =
        g.a * hz[at] + (g.b_dy * (ex_tile[y + 1][x] - ex_tile[y][x]) - g.b_dx * (ey_tile[y][x + 1] - ey_tile[y][x]));
    hz[at] = i == g.source_i && j == g.source_j ? source : h;
    // END ANSWER
}

template <class T> __global__ void __launch_bounds__(tile_x* tile_y) shared_e(Book<T> g, const T* hz, T* ex, T* ey) {
    __shared__ T hz_tile[tile_y + 1][tile_x + 1]; // row 0 and column 0 belong to the neighbours
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = blockIdx.x * tile_x + x, j = blockIdx.y * tile_y + y;
    const std::size_t at = std::size_t(j) * g.pitch + i;
    const bool cell = i < g.nx && j < g.ny;

    if (cell) hz_tile[y + 1][x + 1] = hz[at];
    if (cell && y == 0 && j > 0) hz_tile[0][x + 1] = hz[at - g.pitch];
    if (cell && x == 0 && i > 0) hz_tile[y + 1][0] = hz[at - 1];
    __syncthreads(); // the tile is complete
    if (!cell) return;
    // ANSWER update
    const T h = hz_tile[y + 1][x + 1];
    if (j > 0) ex[at] = g.c * ex[at] + g.d_dy * (h - hz_tile[y][x + 1]);
    if (i > 0) ey[at] = g.c * ey[at] - g.d_dx * (h - hz_tile[y + 1][x]);
    // END ANSWER
}

template <class T> void cuda_shared(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const BookProblem<T> book = book_of(p);
    const Book<T>& g = book.g;
    const FieldBuffers<T> start(book.start);
    FieldBuffers<T> field(book.start);
    T *const hz = field.u.data(), *const ex = field.p.data(), *const ey = field.q.data();
    const dim3 block(tile_x, tile_y);
    const dim3 grid(gpulab::grid_size(book.nx(), tile_x), gpulab::grid_size(book.ny(), tile_y));
    watch.tile(tile_x, "nx");
    watch.tile(tile_y, "ny");
    const auto launch = [&](cudaStream_t stream) {
        for (std::size_t step = 0; step < book.steps; ++step) {
            shared_h<<<grid, block, 0, stream>>>(g, hz, ex, ey, book.source(step));
            shared_e<<<grid, block, 0, stream>>>(g, hz, ex, ey);
        }
    };
    const auto reset = [&](cudaStream_t stream) { copy_async(start, field, stream); };
    gpulab::watch_stream(watch, launch, reset);
    field.copy_to(out.field);
}

INSTANTIATE_RUNG(cuda_shared);

} // namespace fdtd
