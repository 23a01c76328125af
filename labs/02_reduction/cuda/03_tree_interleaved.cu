// Rung 3: a tree. At each step half of the remaining sums are added to the other half, as in figure 2.2 of the book.
//
// Changed: n - 1 additions in all instead of n log2(n), and one barrier per step: a thread reads and writes only
// elements that no other thread touches in this step.
// Thread t works at step s if t is a multiple of 2s: threads 0, 2, 4, ..., then 0, 4, 8, ... (interleaved addressing).
// A warp runs as long as one of its 32 threads works, so up to step 16 every warp runs, for fewer and fewer threads
// (divergence).
// Limit: one element per thread, and a tree for every 256, as in the next rung; and the divergence.
#include "rounds.cuh"

namespace reduction {

namespace {
constexpr unsigned threads = 256;
}

/// One thread per element; the sum of each block goes to sums[blockIdx.x]. Any n.
template <class T> __global__ void tree_interleaved_kernel(const T* a, std::size_t n, T* sums) {
    __shared__ T x[threads];
    const std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
    x[threadIdx.x] = i < n ? a[i] : T{0}; // the last block is filled up with zeros
    __syncthreads();
    for (unsigned stride = 1; stride < threads; stride *= 2) {
        if (threadIdx.x % (2 * stride) == 0) x[threadIdx.x] += x[threadIdx.x + stride];
        __syncthreads(); // outside the branch: every thread must come to it
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = x[0];
}

template <class T> void cuda_tree_interleaved(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    for (std::size_t tile = threads; tile <= 1 << 24; tile *= threads) watch.tile(tile); // of three rounds
    sum_in_rounds<T>(tree_interleaved_kernel<T>, threads, p, sum, watch);                // the host half of rung 2
}

template SumRun<float> cuda_tree_interleaved<float>;
template SumRun<double> cuda_tree_interleaved<double>;

} // namespace reduction
