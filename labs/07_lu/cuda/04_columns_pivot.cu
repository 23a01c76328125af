// Rung 4: partial pivoting on the device.
//
// Changed: before a column is scaled, one block searches it for the element of the largest magnitude, and the row of
// that element is exchanged with the row of the diagonal. The number of the row stays on the device, where the next
// kernel reads it. A copy to the host would make the host wait for the search in every column.
// The search is a reduction (lab 02) of pairs of a value and its row. If several values are equal, the first row wins,
// whatever the order of the comparisons, so that the result does not depend on the number of threads.
// Limit: four launches per column, and a search that uses one multiprocessor only.
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"

namespace lu {

namespace {

constexpr unsigned search_threads = 1024;
constexpr unsigned line_threads = 128; // of exchange and scaling
constexpr int tile = 32;               // of the update

/// Finds the pivot of column k, from row k down. One block.
__global__ void search_kernel(DeviceMatrix d, int k) {
    __shared__ double best[search_threads];
    __shared__ int row[search_threads];
    const int t = threadIdx.x;

    // Each thread its own rows, 1024 apart. NaN compares as smaller than everything and is never chosen.
    double largest = -1;
    int where = k;
    for (int j = k + t; j < d.n; j += search_threads) {
        const double magnitude = fabs(d.lu[std::size_t(j) * d.n + k]);
        if (magnitude > largest) {
            largest = magnitude;
            where = j;
        }
    }
    best[t] = largest;
    row[t] = where;
    __syncthreads();

    for (int distance = search_threads / 2; distance > 0; distance /= 2) {
        if (t < distance) {
            const double other = best[t + distance];
            if (other > best[t] || (other == best[t] && row[t + distance] < row[t])) {
                best[t] = other;
                row[t] = row[t + distance];
            }
        }
        __syncthreads(); // outside the branch: every thread arrives
    }
    if (t == 0) d.pivots[k] = row[0];
}

/// Exchanges row k with the pivot's row, in the columns begin ... end - 1; one thread per column.
__global__ void exchange_kernel(DeviceMatrix d, int k, int begin, int end) {
    const int j = begin + blockIdx.x * blockDim.x + threadIdx.x;
    const int p = d.pivots[k];
    if (j >= end || p == k) return;
    double* const a = d.lu + std::size_t(k) * d.n + j;
    double* const b = d.lu + std::size_t(p) * d.n + j;
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/// Divides column k below the diagonal by the pivot; one thread per row.
__global__ void scale_kernel(DeviceMatrix d, int k) {
    // ANSWER two-kernels
    const int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    if (j < d.n) d.lu[std::size_t(j) * d.n + k] /= d.lu[std::size_t(k) * d.n + k];
    // END ANSWER
}

/// Updates the columns k + 1 ... end - 1 below row k; one thread per element.
__global__ void update_kernel(DeviceMatrix d, int k, int end) {
    // ANSWER two-kernels
    __shared__ double l[tile]; // column k, the rows of this tile
    const int i = k + 1 + blockIdx.y * tile + threadIdx.y;
    const int j = k + 1 + blockIdx.x * tile + threadIdx.x;
    if (threadIdx.x == 0 && i < d.n) l[threadIdx.y] = d.lu[std::size_t(i) * d.n + k];
    __syncthreads();

    if (i < d.n && j < end) d.lu[std::size_t(i) * d.n + j] -= l[threadIdx.y] * d.lu[std::size_t(k) * d.n + j];
    // END ANSWER
}

} // namespace

void factorise_columns(const DeviceMatrix& d, int k0, int k1, cudaStream_t stream) {
    for (int k = k0; k < k1; ++k) {
        search_kernel<<<1, search_threads, 0, stream>>>(d, k);
        exchange_kernel<<<gpulab::grid_size(k1 - k0, line_threads), line_threads, 0, stream>>>(d, k, k0, k1);
        scale_kernel<<<gpulab::grid_size(d.n - k - 1, line_threads), line_threads, 0, stream>>>(d, k);
        const dim3 blocks(gpulab::grid_size(k1 - k - 1, tile), gpulab::grid_size(d.n - k - 1, tile));
        update_kernel<<<blocks, dim3(tile, tile), 0, stream>>>(d, k, k1);
    }
}

void cuda_columns_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    DeviceFactors d(p);
    const DeviceMatrix matrix{d.lu.data(), static_cast<int>(p.n), d.pivots.data()};
    watch.tile(search_threads);
    gpulab::watch_stream(
        watch, [&](cudaStream_t stream) { factorise_columns(matrix, 0, matrix.n, stream); },
        [&](cudaStream_t stream) { d.restore(stream); });
    d.copy_to(f, true);
}

} // namespace lu
