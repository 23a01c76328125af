// Rung 2: a grid of blocks, as the book prints it. (Alfaro Vigo & Rossetto, program 2.9 and exercise 2.4)
//
// Changed: enough 16 x 16 blocks to cover C, so C may have any size. The book asks for square matrices that the block
// divides; here threads beyond the edges do nothing.
// Limit: threadIdx.x is the row index. The threads of a warp are neighbours in threadIdx.x, so half a warp reads 16
// numbers of A that lie k apart and writes 16 numbers of C that lie n apart. Each access touches 16 sectors of 32 bytes
// and uses 4 bytes of each.
#include "gpulab/cuda/timing.hpp"
#include "grid.cuh"
#include "matmul.hpp"

namespace matmul {

/// One thread per element of C; any shape.
template <class T> __global__ void grid_as_printed_kernel(const T* a, const T* b, T* c, int m, int k, int n) {
    // ANSWER one-thread-per-element
    const int i = block_x() * blockDim.x + threadIdx.x;
    const int j = block_y() * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return; // the last blocks are ragged

    T sum = 0;
    for (int l = 0; l < k; ++l) sum += a[std::size_t(i) * k + l] * b[std::size_t(l) * n + j];
    c[std::size_t(i) * n + j] = sum;
    // END ANSWER
}

template <class T> void cuda_grid_as_printed(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a), b(p.b);
    gpulab::DeviceBuffer<T> out(p.size());
    watch.tile(16, "m").tile(16, "n").tile(max_blocks_y * 16, "n");
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const dim3 threads(16, 16);
        const dim3 blocks = tile_grid(p.m, 16, p.n, 16);
        grid_as_printed_kernel<<<blocks, threads, 0, stream>>>(a.data(), b.data(), out.data(), p.m, p.k, p.n);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

INSTANTIATE_RUNG(cuda_grid_as_printed);

} // namespace matmul
