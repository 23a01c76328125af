// Rung 6: the tree inside a warp in registers, by shuffles.
//
// Changed: block_sum() in block_sum.cuh. A thread reads a register of another thread of its warp (__shfl_xor_sync):
// five steps add up a warp without shared memory and without a barrier. One number per warp then goes through shared
// memory, and the first warp adds these up in the same way. Two barriers in all instead of nine.
//
// Limit: still one 4-byte load in flight per thread.
#include <algorithm>

#include "block_sum.cuh"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "reduction.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 256;
}

/// Any n with any grid; the sum of each block goes to sums[blockIdx.x].
template <class T> __global__ void shuffle_kernel(const T* a, std::size_t n, T* sums) {
    const std::size_t stride = gridDim.x * std::size_t{threads};
    T mine = 0;
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += stride) mine += a[i];
    const T all = block_sum<threads>(mine);
    if (threadIdx.x == 0) sums[blockIdx.x] = all;
}

template <class T> void cuda_shuffle(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    const auto per_sm = static_cast<unsigned>(gpulab::occupancy(shuffle_kernel<T>, threads).blocks_per_sm);
    const unsigned resident = per_sm * gpulab::multiprocessor_count();
    const unsigned blocks = std::min(gpulab::grid_size(p.size(), threads), resident);
    gpulab::DeviceBuffer<T> sums(blocks), result(1);
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    const auto launch = [&](cudaStream_t stream) {
        shuffle_kernel<<<blocks, threads, 0, stream>>>(a.data(), p.size(), sums.data());
        CUDA_CHECK_LAUNCH();
        shuffle_kernel<<<1, threads, 0, stream>>>(sums.data(), blocks, result.data());
        CUDA_CHECK_LAUNCH();
        CUDA_CHECK(cudaMemcpyAsync(host.data(), result.data(), sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    watch.tile(std::size_t{threads});
    watch.tile(resident * std::size_t{threads});
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, result, host));
    sums.check_guard_bands();
    result.check_guard_bands();
    sum[0] = host[0];
}

template SumRun<float> cuda_shuffle<float>;
template SumRun<double> cuda_shuffle<double>;

} // namespace reduction
