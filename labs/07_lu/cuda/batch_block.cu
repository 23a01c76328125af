// Batch in CUDA: a block per matrix, in shared memory.
//
// The block copies its matrix into shared memory, eliminates it there, and copies it back: each element moves twice,
// whatever n is. In every step one warp searches the column; then all threads exchange two rows, divide the column, and
// update, a warp per row. Rows are an odd number of elements apart, so that the 32 lanes that search a column, each in
// a row of its own, access different banks.
// Limit: four barriers per column. Between them most threads wait for few: 32 search, and 128 at most divide.
#include "batch.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/shared_memory.hpp"
#include "gpulab/cuda/timing.hpp"

namespace lu {

namespace {

/// Factorises matrix number blockIdx.x; row i begins at m[i * stride].
__global__ void batch_block_kernel(double* all, std::int32_t* all_pivots, int n, int stride) {
    extern __shared__ double m[];
    __shared__ int pivot;
    double* const a = all + std::size_t(blockIdx.x) * n * n;
    std::int32_t* const pivots = all_pivots + std::size_t(blockIdx.x) * n;
    const int t = threadIdx.x, threads = blockDim.x, lane = t % 32, warp = t / 32;

    for (int e = t; e < n * n; e += threads) m[e / n * stride + e % n] = a[e];
    __syncthreads();
    for (int k = 0; k < n; ++k) {
        if (warp == 0) {
            double largest = -1; // NaN compares as smaller than everything and is never chosen
            int row = k;
            for (int i = k + lane; i < n; i += 32) {
                const double magnitude = fabs(m[i * stride + k]);
                if (magnitude > largest) {
                    largest = magnitude;
                    row = i;
                }
            }
            for (int distance = 16; distance > 0; distance /= 2) {
                const double other = __shfl_down_sync(~0u, largest, distance);
                const int others = __shfl_down_sync(~0u, row, distance);
                if (other > largest || (other == largest && others < row)) {
                    largest = other;
                    row = others;
                }
            }
            if (lane == 0) {
                pivot = row;
                pivots[k] = row;
            }
        }
        __syncthreads();
        const int p = pivot;
        for (int j = t; j < n && p != k; j += threads) {
            const double kept = m[k * stride + j];
            m[k * stride + j] = m[p * stride + j];
            m[p * stride + j] = kept;
        }
        __syncthreads(); // the rows are exchanged, and nobody needs `pivot` any more
        for (int i = k + 1 + t; i < n; i += threads) m[i * stride + k] /= m[k * stride + k];
        __syncthreads(); // the column is divided
        for (int i = k + 1 + warp; i < n; i += threads / 32) {
            const double factor = m[i * stride + k];
            for (int j = k + 1 + lane; j < n; j += 32) m[i * stride + j] -= factor * m[k * stride + j];
        }
        __syncthreads(); // the next column is up to date
    }
    for (int e = t; e < n * n; e += threads) a[e] = m[e / n * stride + e % n];
}

} // namespace

void cuda_batch_block(const Problem& p, Factors& f, Stopwatch& watch) {
    const unsigned threads = p.n <= 32 ? 64 : p.n <= 64 ? 256 : 512; // the fastest of 64 to 512 on an H100
    const int n = static_cast<int>(p.n), stride = n | 1;
    const std::size_t shared_bytes = p.n * static_cast<std::size_t>(stride) * sizeof(double);
    gpulab::ask_for_shared_memory(batch_block_kernel, shared_bytes, "a matrix");
    DeviceFactors d(p);
    watch.tile(32).tile(64);
    const auto launch = [&](cudaStream_t stream) {
        batch_block_kernel<<<static_cast<unsigned>(p.count), threads, shared_bytes, stream>>>(
            d.lu.data(), d.pivots.data(), n, stride);
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.copy_to(f, true);
}

} // namespace lu
