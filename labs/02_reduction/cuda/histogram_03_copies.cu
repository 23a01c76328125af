// Histogram, rung 3: eight copies of each block's counts.
//
// Changed: neighbouring threads count in different copies, so no more than 4 of the 32 lanes of a warp ever change
// the same number. At the end a thread adds up the copies of a bin.
// Limit: eight times as much shared memory to set to zero and to add up. Where the elements spread over many bins,
// there was little waiting to save.
#include "count_in_blocks.cuh"

namespace reduction {

namespace {
constexpr unsigned copies = 8;
}

/// As histogram_private_kernel, with `copies` counts for each bin.
template <class T> __global__ void histogram_copies_kernel(const T* a, std::size_t n, unsigned bins, unsigned* counts) {
    // ANSWER histogram
    __shared__ unsigned all[copies * (max_bins + 1)];
    const unsigned pitch = bins | 1; // odd: the copies of a bin lie in different banks
    for (unsigned b = threadIdx.x; b < copies * pitch; b += blockDim.x) all[b] = 0;
    __syncthreads();
    unsigned* const mine = all + threadIdx.x % copies * pitch;
    const std::size_t grid = gridDim.x * std::size_t{blockDim.x};
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n; i += grid)
        atomicAdd(&mine[static_cast<unsigned>(a[i])], 1u);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < bins; b += blockDim.x) {
        unsigned count = 0;
        for (unsigned k = 0; k < copies; ++k) count += all[k * pitch + b];
        atomicAdd(&counts[b], count);
    }
    // END ANSWER
}

template <class T> void cuda_histogram_copies(const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch) {
    count_in_blocks(histogram_copies_kernel<T>, p, counts, watch);
}

template HistogramRun<float> cuda_histogram_copies<float>;
template HistogramRun<double> cuda_histogram_copies<double>;

} // namespace reduction
