// Rung 1: two kernels per column. (Alfaro Vigo & Rossetto, programs 3.8-3.11)
//
// For each column one kernel divides it by the pivot, one thread per element, and a second one updates the submatrix,
// one thread per element in tiles of TILE x TILE. Between two launches in one stream all blocks have ended: that is the
// only way in which blocks of this rung wait for each other.
// Mended: the printed host program copies the matrix from the device to the host where it should go the other way; the
// tile's size is a variable of the host there and yet sizes a static shared array, here it is a template parameter; the
// pivots are looked at. Kept: threadIdx.x counts the rows, which the next rung is about.
// Limit: threads of a warp touch 32 different rows, so of each sector of 32 bytes they use 8; and each step passes over
// the whole submatrix in global memory for two operations per element.
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "studies.hpp"

namespace lu {

/// Divides column i below the diagonal by the pivot; one thread per row.
__global__ void scale_column_kernel(double* lu, int n, int i) {
    __shared__ double pivot;
    if (threadIdx.x == 0) pivot = lu[std::size_t(i) * n + i];
    __syncthreads(); // the pivot is there

    const int j = i + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) lu[std::size_t(j) * n + i] /= pivot;
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

template <int TILE> void eliminate_by_rows(const Problem& p, Factors& f, Stopwatch& watch) {
    DeviceFactors d(p);
    const int n = static_cast<int>(p.n);
    watch.tile(TILE);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            for (int i = 0; i + 1 < n; ++i) {
                const unsigned blocks = gpulab::grid_size(n - i - 1, TILE);
                scale_column_kernel<<<blocks, TILE, 0, stream>>>(d.lu.data(), n, i);
                update_by_rows_kernel<TILE><<<dim3(blocks, blocks), dim3(TILE, TILE), 0, stream>>>(d.lu.data(), n, i);
            }
        },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, false);
}

void cuda_two_kernels_16(const Problem& p, Factors& f, Stopwatch& watch) { eliminate_by_rows<16>(p, f, watch); }
void cuda_two_kernels_32(const Problem& p, Factors& f, Stopwatch& watch) { eliminate_by_rows<32>(p, f, watch); }

} // namespace lu
