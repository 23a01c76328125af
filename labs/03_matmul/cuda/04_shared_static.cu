// Rung 4: tiles in shared memory. (Alfaro Vigo & Rossetto, program 2.10 and exercise 2.5)
//
// Changed: a block of 16 x 16 threads loads a 16 x 16 tile of A and one of B together. Each number that comes from
// global memory serves 16 threads, so there are 16 times fewer loads from there.
// In the book's kernel threadIdx.x is the row index: accesses to global memory are strided, and in shared memory the
// threads of a warp access different words of the same bank.
// Limit: shared memory. In the compiled loop a multiply-add of a warp costs 1.25 loads from it: one from B's tile, and
// a quarter of one for A's tile, because one load brings four neighbours.
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "grid.cuh"
#include "matmul.hpp"
#include "studies.hpp"

namespace matmul {

/// Launch with TILE x TILE threads; any shape.
template <class T, int TILE> __global__ void shared_static_kernel(const T* a, const T* b, T* c, int m, int k, int n) {
    __shared__ T a_tile[TILE][TILE];
    __shared__ T b_tile[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int i = block_y() * TILE + y, j = block_x() * TILE + x;

    // EXERCISE shared-tile
    //| // TODO: go through the tiles of A and B. In each round every thread loads one number of each (0 outside the
    //| // matrices) and then uses a row and a column of the tiles. Where do all threads have to wait? The last tile
    //| // may be ragged.
    //| (void)a, (void)b, (void)k;
    //| a_tile[y][x] = b_tile[y][x] = T{0};
    //| if (i < m && j < n) c[std::size_t(i) * n + j] = a_tile[y][x];
    T sum = 0;
    for (int l0 = 0; l0 < k; l0 += TILE) {
        // Outside A or B the tile holds 0, which adds nothing. No thread may return early: all must reach the barriers.
        a_tile[y][x] = i < m && l0 + x < k ? a[std::size_t(i) * k + l0 + x] : T{0};
        b_tile[y][x] = l0 + y < k && j < n ? b[std::size_t(l0 + y) * n + j] : T{0};
        __syncthreads(); // the tiles are complete

#pragma unroll
        for (int l = 0; l < TILE; ++l) sum += a_tile[y][l] * b_tile[l][x];
        __syncthreads(); // no thread reads them any more: they may be overwritten
    }
    if (i < m && j < n) c[std::size_t(i) * n + j] = sum;
    // END EXERCISE
}

/// Copies in, launches, copies out, with a tile whose size is known when this is compiled.
template <class T, int TILE> void multiply_in_tiles(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a), b(p.b);
    gpulab::DeviceBuffer<T> out(p.size());
    watch.tile(TILE, "m").tile(TILE, "k").tile(TILE, "n").tile(max_blocks_y * TILE, "m");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 threads(TILE, TILE);
        const dim3 blocks = tile_grid(p.n, TILE, p.m, TILE);
        shared_static_kernel<T, TILE><<<blocks, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

template <class T> void cuda_shared_static(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    multiply_in_tiles<T, 16>(p, c, watch);
}

template <class T> void cuda_static_tile(const Problem<T>& p, Output<T>& c, Stopwatch& watch, Tile tile) {
    if (tile.rows != tile.columns || tile.rows != tile.depth) throw gpulab::Unsupported("compiled for square tiles");
    if (tile.rows == 8) multiply_in_tiles<T, 8>(p, c, watch);
    else if (tile.rows == 16) multiply_in_tiles<T, 16>(p, c, watch);
    else if (tile.rows == 32) multiply_in_tiles<T, 32>(p, c, watch);
    else throw gpulab::Unsupported("compiled for tiles of 8, 16 and 32");
}

INSTANTIATE_RUNG(cuda_shared_static);
template void cuda_static_tile(const Problem<float>&, Output<float>&, Stopwatch&, Tile);
template void cuda_static_tile(const Problem<double>&, Output<double>&, Stopwatch&, Tile);

} // namespace matmul
