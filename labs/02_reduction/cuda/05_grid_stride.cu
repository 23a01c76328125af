// Rung 5: each thread first adds up many elements of its own.
//
// Changed: the grid fills the device at most once, whatever n is; a thread strides over the array and keeps its sum in
// a register, where an addition costs no barrier. Only then comes the tree of rung 4, once per block instead of once
// per 256 elements, and a second launch of one block adds up the few sums that are left. Two rounds for any n.
//
// Limit: one 4-byte load in flight per thread, since each addition waits for its load and the next load comes after it;
// the tree is now a small part.
#include <algorithm>

#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "reduction.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 256;
}

/// Any n with any grid; the sum of each block goes to sums[blockIdx.x].
template <class T> __global__ void grid_stride_kernel(const T* a, std::size_t n, T* sums) {
    // ANSWER tree
    __shared__ T x[threads];
    const std::size_t stride = gridDim.x * std::size_t{threads};
    T mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += stride) mine += a[i];
    x[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = threads / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) x[threadIdx.x] += x[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = x[0];
    // END ANSWER
}

template <class T> void cuda_grid_stride(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    const unsigned resident = gpulab::resident_blocks(grid_stride_kernel<T>, threads);
    const unsigned blocks = std::min(gpulab::grid_size(p.size(), threads), resident);
    gpulab::DeviceBuffer<T> sums(blocks), result(1);
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    const auto launch = [&](cudaStream_t stream) {
        grid_stride_kernel<<<blocks, threads, 0, stream>>>(a.data(), p.size(), sums.data());
        CUDA_CHECK_LAUNCH();
        grid_stride_kernel<<<1, threads, 0, stream>>>(sums.data(), blocks, result.data());
        CUDA_CHECK_LAUNCH();
        CUDA_CHECK(cudaMemcpyAsync(host.data(), result.data(), sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, result, host));
    sum[0] = host[0];
}

template SumRun<float> cuda_grid_stride<float>;
template SumRun<double> cuda_grid_stride<double>;

} // namespace reduction
