// Rung 1: two kernels per column. (Alfaro Vigo & Rossetto, programs 3.8-3.11)
//
// For each column, one kernel divides the column by the pivot, with one thread per element. A second kernel updates the
// submatrix, with one thread per element in tiles of TILE x TILE. A launch begins when all blocks of the launch before
// it in the same stream have ended. This rung needs that order: the update reads the divided column. Three faults of
// the printed programs are corrected here. The host program copies the matrix from the device to the host where it
// should copy it to the device. The size of the tile is a variable of the host, but it is the size of a static shared
// array; here it is a template parameter. Nothing checks the pivots. The printed order of the threads is kept:
// threadIdx.x counts the rows.
// Limit: with tiles of 32 x 32, the threads of a warp access 32 different rows, so they use 8 of the 32 bytes of each
// sector. And each step passes over the whole submatrix in global memory for two operations per element.
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"

namespace lu {

/// Divides column i below the diagonal by the pivot; one thread per row.
__global__ void scale_column_kernel(double* lu, int n, int i) {
    // ANSWER two-kernels
    __shared__ double pivot;
    if (threadIdx.x == 0) pivot = lu[std::size_t(i) * n + i];
    __syncthreads(); // the pivot is there

    const int j = i + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) lu[std::size_t(j) * n + i] /= pivot;
    // END ANSWER
}

/// Updates the submatrix right of and below element (i, i); one thread per element.
template <int TILE> __global__ void update_by_rows_kernel(double* lu, int n, int i) {
    __shared__ double l[TILE];                             // column i, the rows of this tile
    __shared__ double u[TILE];                             // row i, the columns of this tile
    const int j = i + 1 + blockIdx.x * TILE + threadIdx.x; // row
    const int k = i + 1 + blockIdx.y * TILE + threadIdx.y; // column
    if (threadIdx.y == 0 && j < n) l[threadIdx.x] = lu[std::size_t(j) * n + i];
    if (threadIdx.x == 0 && k < n) u[threadIdx.y] = lu[std::size_t(i) * n + k];
    __syncthreads(); // both are complete

    if (j < n && k < n) lu[std::size_t(j) * n + k] -= l[threadIdx.x] * u[threadIdx.y];
}

template <int TILE> void eliminate_by_rows(double* lu, int n, cudaStream_t stream) {
    for (int i = 0; i + 1 < n; ++i) {
        const unsigned blocks = gpulab::grid_size(n - i - 1, TILE);
        scale_column_kernel<<<blocks, TILE, 0, stream>>>(lu, n, i);
        update_by_rows_kernel<TILE><<<dim3(blocks, blocks), dim3(TILE, TILE), 0, stream>>>(lu, n, i);
    }
}

template <int TILE> void factorise_by_rows(const Problem& p, Factors& f, Stopwatch& watch) {
    DeviceFactors d(p);
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { eliminate_by_rows<TILE>(d.lu.data(), static_cast<int>(p.n), stream); },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, false);
}

void cuda_two_kernels_16(const Problem& p, Factors& f, Stopwatch& watch) { factorise_by_rows<16>(p, f, watch); }
void cuda_two_kernels_32(const Problem& p, Factors& f, Stopwatch& watch) { factorise_by_rows<32>(p, f, watch); }

template void eliminate_by_rows<16>(double*, int, cudaStream_t); // for the study figure-3-10
template void eliminate_by_rows<32>(double*, int, cudaStream_t);

} // namespace lu
