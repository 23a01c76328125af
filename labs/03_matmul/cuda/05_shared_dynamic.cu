// Rung 5: the tile's size is chosen at the launch. (Alfaro Vigo & Rossetto, section 2.3.5 and exercise 2.5)
//
// Changed: the third launch parameter asks for shared memory, and the kernel divides it into the two tiles, as the book
// shows for arrays of several types. One kernel serves every tile: rows x columns of C, one element per thread, from
// tiles of A (rows x depth) and B (depth x columns). The rung uses the tile of the rung before; the study `tile` tries
// others. The rung is slower than the one before, but one kernel serves every size of tile.
// Limit: instructions. The depth is known only at run time. The loop is unrolled 16 times all the same, but it needs a
// test for depths that 16 does not divide, addresses are computed rather than constant, and four neighbours of A's tile
// are four loads.
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "grid.cuh"
#include "matmul.hpp"
#include "studies.hpp"

namespace matmul {

/// Launch with columns x rows threads and (rows + columns) * depth * sizeof(T) bytes of shared memory; any shape.
template <class T> __global__ void shared_dynamic_kernel(const T* a, const T* b, T* c, int m, int k, int n, int depth) {
    // ANSWER shared-tile
    extern __shared__ double raw[]; // double: aligned for float and for double
    const int rows = blockDim.y, columns = blockDim.x;
    T* const a_tile = reinterpret_cast<T*>(raw); // rows x depth
    T* const b_tile = a_tile + rows * depth;     // depth x columns
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = block_y() * rows, column = block_x() * columns;

    T sum = 0;
    for (int l0 = 0; l0 < k; l0 += depth) {
        for (int l = x; l < depth; l += columns) // row y of A's tile, neighbouring threads at neighbouring numbers
            a_tile[y * depth + l] = row + y < m && l0 + l < k ? a[std::size_t(row + y) * k + l0 + l] : T{0};
        for (int l = y; l < depth; l += rows) // column x of B's tile
            b_tile[l * columns + x] = l0 + l < k && column + x < n ? b[std::size_t(l0 + l) * n + column + x] : T{0};
        __syncthreads(); // the tiles are complete

#pragma unroll 16
        for (int l = 0; l < depth; ++l) sum += a_tile[y * depth + l] * b_tile[l * columns + x];
        __syncthreads(); // no thread reads them any more
    }
    if (row + y < m && column + x < n) c[std::size_t(row + y) * n + column + x] = sum;
    // END ANSWER
}

template <class T> void cuda_tile(const Problem<T>& p, Output<T>& c, Stopwatch& watch, Tile tile) {
    if (tile.rows * tile.columns > 1024) throw gpulab::Unsupported("a block has at most 1024 threads");
    const gpulab::DeviceBuffer<T> a(p.a), b(p.b);
    gpulab::DeviceBuffer<T> out(p.size());
    const std::size_t shared = sizeof(T) * (tile.rows + tile.columns) * tile.depth;
    if (shared > 48 * 1024) throw gpulab::Unsupported("the tiles take more than the 48 KiB that any block may have");
    watch.tile(tile.rows, "m").tile(tile.depth, "k").tile(tile.columns, "n");
    watch.tile(max_blocks_y * tile.rows, "m");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 blocks = tile_grid(p.n, tile.columns, p.m, tile.rows);
        const dim3 threads(tile.columns, tile.rows);
        shared_dynamic_kernel<<<blocks, threads, shared, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n,
                                                                   tile.depth);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

template <class T> void cuda_shared_dynamic(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    cuda_tile(p, c, watch, {16, 16, 16});
}

template void cuda_tile(const Problem<float>&, Output<float>&, Stopwatch&, Tile);
template void cuda_tile(const Problem<double>&, Output<double>&, Stopwatch&, Tile);

INSTANTIATE_RUNG(cuda_shared_dynamic);

} // namespace matmul
