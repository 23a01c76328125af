// Rung 3: threadIdx.x along the columns.
//
// Changed: i and j have changed places, nothing else. A warp is two rows of the 16 x 16 block. It reads two numbers of
// A, each of which serves 16 threads, and 16 neighbours in a row of B; it writes 16 neighbours in each of two rows of
// C. The accesses to B and C are coalesced: all bytes of the sectors they touch are used. A step uses 4 bytes of each
// of the two sectors of A; the next steps find the other bytes in a cache.
// Limit: two loads for each multiply-add. The caches hold many of the numbers, but a multiprocessor carries out far
// fewer loads than multiply-adds per clock cycle (see the hand-out).
#include "gpulab/cuda/timing.hpp"
#include "grid.cuh"
#include "matmul.hpp"

namespace matmul {

/// One thread per element of C; any shape.
template <class T> __global__ void grid_kernel(const T* a, const T* b, T* c, int m, int k, int n) {
    // EXERCISE one-thread-per-element
    //| // TODO: which element of C is this thread's? block_x() and block_y() are the numbers of its block.
    //| // Neighbouring threads take neighbouring columns. Threads beyond the edges do nothing. An empty sum is 0.
    //| (void)a, (void)b, (void)c, (void)m, (void)k, (void)n;
    const int i = block_y() * blockDim.y + threadIdx.y;
    const int j = block_x() * blockDim.x + threadIdx.x;
    if (i >= m || j >= n) return; // the last blocks are ragged

    T sum = 0;
    for (int l = 0; l < k; ++l) sum += a[std::size_t(i) * k + l] * b[std::size_t(l) * n + j];
    c[std::size_t(i) * n + j] = sum;
    // END EXERCISE
}

template <class T> void cuda_grid(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a), b(p.b);
    gpulab::DeviceBuffer<T> out(p.size());
    watch.tile(16, "m").tile(16, "n").tile(max_blocks_y * 16, "m");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 threads(16, 16);
        const dim3 blocks = tile_grid(p.n, 16, p.m, 16);
        grid_kernel<<<blocks, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

INSTANTIATE_RUNG(cuda_grid);

} // namespace matmul
