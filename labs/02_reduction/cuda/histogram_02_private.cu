// Histogram, rung 2: each block has counts of its own.
//
// Changed: where an element is counted. A block counts its elements in shared memory, and adds its counts to those of
// the other blocks once: (blocks x bins) atomic additions in global memory, whatever n.
// Limit: threads of a block that count in one bin still wait for each other.
#include "count_in_blocks.cuh"

namespace reduction {

/// Adds the counts of `bins` bins to `counts`. Any n, any number of blocks. @param bins at most max_bins
template <class T>
__global__ void histogram_private_kernel(const T* a, std::size_t n, unsigned bins, unsigned* counts) {
    const std::size_t me = threadIdx.x;
    // EXERCISE histogram
    //| // TODO: set the block's own counts to zero; count the block's elements in them, each thread every G-th one, G
    //| // being the number of threads of the grid; then add them to those of the other blocks, which lie in `counts`.
    //| // Which additions must be atomic? Where does every thread have to wait for the others? A block may have fewer
    //| // threads than there are bins.
    //| __shared__ unsigned mine[max_bins];
    //| mine[me % max_bins] = 0;
    //| (void)a, (void)n, (void)bins, (void)counts;
    __shared__ unsigned mine[max_bins];
    for (std::size_t b = me; b < bins; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    const std::size_t all = gridDim.x * std::size_t{blockDim.x};
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + me; i < n; i += all)
        atomicAdd(&mine[static_cast<unsigned>(a[i])], 1u);
    __syncthreads();
    for (std::size_t b = me; b < bins; b += blockDim.x) atomicAdd(&counts[b], mine[b]);
    // END EXERCISE
}

template <class T> void cuda_histogram_private(const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch) {
    count_in_blocks(histogram_private_kernel<T>, p, counts, watch);
}

template HistogramRun<float> cuda_histogram_private<float>;
template HistogramRun<double> cuda_histogram_private<double>;

} // namespace reduction
