// Rung 6: the tree inside a warp in registers, by shuffles.
//
// Changed: the tree. A thread reads a register of another thread of its warp (__shfl_xor_sync): five steps add up a
// warp without shared memory and without a barrier. One number per warp then goes through shared memory, and the first
// warp adds these up in the same way. Two barriers in all instead of nine. The later rungs take warp_sum() and
// block_sum() from block_sum.cuh.
//
// Limit: still one 4-byte load in flight per thread.
#include <algorithm>

#include "gpulab/cuda/occupancy.hpp"
#include "rounds.cuh"

namespace reduction {

namespace {

constexpr unsigned threads = 256, warps = threads / 32;

/// The sum over the 32 threads of a warp, in all of them: with the neighbours 16 lanes away, then 8, 4, 2 and 1.
/// @pre all 32 threads call it
template <class T> __device__ T warp_sum(T x) {
#pragma unroll
    for (unsigned step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, step);
    return x;
}

/// The sum over a block; valid in the first warp. A kernel may call it more than once.
/// @pre all threads of the block call it
template <class T> __device__ T block_sum(T x) {
    __shared__ T of_warp[warps];
    __syncthreads(); // of_warp may still be read by an earlier call
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) x = warp_sum(threadIdx.x < warps ? of_warp[threadIdx.x] : T{0});
    return x;
}

} // namespace

/// Any n with any grid; the sum of each block goes to sums[blockIdx.x].
template <class T> __global__ void shuffle_kernel(const T* a, std::size_t n, T* sums) {
    const std::size_t stride = gridDim.x * std::size_t{threads};
    T mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += stride) mine += a[i];
    const T all = block_sum(mine);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

template <class T> void cuda_shuffle(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const unsigned resident = gpulab::resident_blocks(shuffle_kernel<T>, threads);
    const unsigned blocks = std::min(gpulab::grid_size(p.size(), threads), resident);
    sum_in_two_rounds<T>(shuffle_kernel<T>, blocks, threads, p, sum, watch); // the host half of rung 5
}

template SumRun<float> cuda_shuffle<float>;
template SumRun<double> cuda_shuffle<double>;

} // namespace reduction
