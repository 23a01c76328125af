// Rung 4: the same tree with the working threads side by side.
//
// Changed: which threads work. Thread t < s adds the element s places after its own, s = 128, 64, ..., 1 (sequential
// addressing). The threads that work are the first s, so whole warps become idle, and no warp runs for only some of its
// threads before the last five steps.
//
// Limit: most threads load one element and then wait. Half of the threads are idle from the first step on.
#include "rounds.cuh"

namespace reduction {

namespace {
constexpr unsigned threads = 256;
}

/// One thread per element; the sum of each block goes to sums[blockIdx.x]. Any n.
template <class T> __global__ void tree_sequential_kernel(const T* a, std::size_t n, T* sums) {
    __shared__ T x[threads];
    const std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
    // EXERCISE tree
    //| // TODO: copy one element to shared memory, or 0 beyond the end. Add up x[0], x[1], ... in a tree with the
    //| // working threads side by side. Thread 0 writes the sum of the block. Where does every thread have to wait for
    //| // the others?
    //| x[threadIdx.x] = i < n ? a[i] : T{0};
    //| if (threadIdx.x == 0) sums[blockIdx.x] = 0;
    x[threadIdx.x] = i < n ? a[i] : T{0}; // the last block is filled up with zeros
    __syncthreads();
    for (unsigned stride = threads / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) x[threadIdx.x] += x[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = x[0];
    // END EXERCISE
}

template <class T> void cuda_tree_sequential(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    for (std::size_t tile = threads; tile <= 1 << 24; tile *= threads) watch.tile(tile); // of three rounds
    sum_in_rounds<T>(tree_sequential_kernel<T>, threads, p, sum, watch);                 // the host half of rung 2
}

template SumRun<float> cuda_tree_sequential<float>;
template SumRun<double> cuda_tree_sequential<double>;

} // namespace reduction
