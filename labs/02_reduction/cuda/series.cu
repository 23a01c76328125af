// The series on a CUDA device: cuda_single_pass whose elements are computed instead of read.
// (Alfaro Vigo & Rossetto, exercises 1.3 and 1.4)
//
// Thread t takes the terms t, t + G, t + 2G, ... with G threads in the grid. The sign follows from the index; G is
// even, so a thread keeps the same sign throughout.
// Limit: arithmetic. A division per term for pi, a power and a division per term for log(1 + x).
#include "series.hpp"

#include <algorithm>

#include "block_sum.cuh"
#include "gpulab/cuda/occupancy.hpp"
#include "rounds.cuh"

namespace reduction {

namespace {

constexpr unsigned threads = 256;

template <class T> __device__ T term(Series series, T x, std::size_t i) {
    const bool even = i % 2 == 0;
    if (series == Series::pi) {
        const T size = T{4} / static_cast<T>(2 * i + 1);
        return even ? size : -size;
    }
    const T power = static_cast<T>(i + 1);
    const T size = pow(abs(x), power) / power; // |x|: a float cannot tell an odd exponent from an even one past 2^24
    return x > 0 && even ? size : -size;
}

} // namespace

/// Any number of terms with any grid; the last three parameters as for single_pass_kernel.
template <class T>
__global__ void __launch_bounds__(threads)
    series_kernel(Series series, T x, std::size_t terms, T* sums, unsigned* done, T* result) {
    const std::size_t stride = gridDim.x * std::size_t{threads};
    T mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < terms; i += stride)
        mine += term(series, x, i);
    mine = block_sum<threads>(mine);

    __shared__ bool last;
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = mine;
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence(); // no load below may have been done before the ticket was drawn

    T rest = 0;
    for (unsigned s = threadIdx.x; s < gridDim.x; s += threads) rest += __ldcg(&sums[s]);
    rest = block_sum<threads>(rest);
    if (threadIdx.x == 0) *result = rest;
}

template <class T> void cuda_series(const SeriesProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const unsigned resident = gpulab::resident_blocks(series_kernel<T>, threads);
    const unsigned blocks = std::min(gpulab::grid_size(p.terms, threads), resident);
    sum[0] = sum_in_one_round<T>(blocks, watch, [&](cudaStream_t stream, T* sums, unsigned* done, T* result) {
        series_kernel<<<blocks, threads, 0, stream>>>(p.series, p.x, p.terms, sums, done, result);
    }); // the host half of cuda_single_pass
}

template SeriesRun<float> cuda_series<float>;
template SeriesRun<double> cuda_series<double>;

} // namespace reduction
