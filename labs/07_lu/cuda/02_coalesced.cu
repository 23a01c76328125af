// Rung 2: threadIdx.x along the columns.
//
// Changed: x and y are exchanged in the update. The threads of a warp now access neighbours in one row and use all
// bytes of their sectors. The column is divided as before: its elements are n apart in memory, whichever thread takes
// them.
// Limit: the whole submatrix passes through global memory in each step; for small ones, two launches per column.
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"

namespace lu {

namespace {

constexpr int tile = 32;

/// Divides column i below the diagonal by the pivot; one thread per row.
__global__ void scale_kernel(double* lu, int n, int i) {
    // EXERCISE two-kernels
    //| // TODO: divide the element of column i in this thread's row, below the diagonal, by the pivot.
    //| (void)lu, (void)n, (void)i;
    const int j = i + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) lu[std::size_t(j) * n + i] /= lu[std::size_t(i) * n + i]; // the same address for all: one load
    // END EXERCISE
}

/// Updates the submatrix right of and below element (i, i); one thread per element.
__global__ void update_by_columns_kernel(double* lu, int n, int i) {
    // EXERCISE two-kernels
    //| // TODO: subtract from this thread's element (j, k), right of and below (i, i), the product that the
    //| // elimination of unknown i takes. Neighbouring threads take neighbouring columns. The numbers of column i may
    //| // go to shared memory.
    //| (void)lu, (void)n, (void)i;
    __shared__ double l[tile];                             // column i, the rows of this tile
    const int j = i + 1 + blockIdx.y * tile + threadIdx.y; // row
    const int k = i + 1 + blockIdx.x * tile + threadIdx.x; // column
    if (threadIdx.x == 0 && j < n) l[threadIdx.y] = lu[std::size_t(j) * n + i];
    __syncthreads();

    if (j < n && k < n) lu[std::size_t(j) * n + k] -= l[threadIdx.y] * lu[std::size_t(i) * n + k];
    // END EXERCISE
}

} // namespace

void cuda_coalesced(const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr unsigned threads = 128; // of the scaling
    DeviceFactors d(p);
    const int n = static_cast<int>(p.n);
    const auto launch = [&](cudaStream_t stream) {
        for (int i = 0; i + 1 < n; ++i) {
            const unsigned blocks = gpulab::grid_size(n - i - 1, tile);
            scale_kernel<<<gpulab::grid_size(n - i - 1, threads), threads, 0, stream>>>(d.lu.data(), n, i);
            update_by_columns_kernel<<<dim3(blocks, blocks), dim3(tile, tile), 0, stream>>>(d.lu.data(), n, i);
        }
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.copy_to(f, false);
}

} // namespace lu
