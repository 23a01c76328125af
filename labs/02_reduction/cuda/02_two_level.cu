// Rung 2: a sum per block, then the sums of the sums. (Alfaro Vigo & Rossetto, program 2.7)
//
// Changed: many blocks, each as in rung 1. Blocks cannot wait for each other inside a kernel, so the kernel ends: the
// next launch adds up the blocks' sums in the same way, until one block is enough. A block has 256 threads, so that a
// multiprocessor holds several: while one waits at a barrier, the others load. 256 elements per block and round: two
// rounds reach 2^16 elements, three 2^24.
// Corrected: threads beyond the end read nothing (in the printed program they read past the array), and the last
// round includes an incomplete block (the printed program drops the sums that do not fill a block).
// Limit: one element per thread, for eight steps with two barriers each. At least half of the threads add in every
// step, but only one of the 256 sums is used; the next rung leaves these additions out.
#include <utility>

#include "gpulab/cuda/timing.hpp"
#include "reduction.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 256;
}

/// One thread per element; the sum of each block goes to sums[blockIdx.x]. Any n.
template <class T> __global__ void two_level_kernel(const T* a, std::size_t n, T* sums) {
    // ANSWER prefix-sum
    __shared__ T x[threads];
    const std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x;
    x[threadIdx.x] = i < n ? a[i] : T{0}; // the last block is filled up with zeros
    __syncthreads();
    for (unsigned stride = 1; stride < threads; stride *= 2) {
        T before{};
        if (threadIdx.x >= stride) before = x[threadIdx.x - stride];
        __syncthreads(); // all have read
        if (threadIdx.x >= stride) x[threadIdx.x] += before;
        __syncthreads(); // all have written
    }
    if (threadIdx.x == threads - 1) sums[blockIdx.x] = x[threadIdx.x];
    // END ANSWER
}

template <class T> void cuda_two_level(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    const std::size_t blocks = gpulab::grid_size(p.size(), threads);
    gpulab::DeviceBuffer<T> sums(blocks), sums_of_sums(gpulab::ceil_div(blocks, threads));
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    const auto launch = [&](cudaStream_t stream) {
        const T* from = a.data();
        T *to = sums.data(), *other = sums_of_sums.data();
        std::size_t n = p.size();
        for (;;) { // round after round, until one block is enough; a launch waits for the one before it
            const unsigned grid = gpulab::grid_size(n, threads);
            two_level_kernel<<<grid, threads, 0, stream>>>(from, n, to);
            CUDA_CHECK_LAUNCH();
            if (grid == 1) break;
            from = to;
            std::swap(to, other);
            n = grid;
        }
        CUDA_CHECK(cudaMemcpyAsync(host.data(), to, sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    for (std::size_t tile = threads; tile <= 1 << 24; tile *= threads) watch.tile(tile); // of three rounds
    gpulab::watch_stream(watch, launch, gpulab::poisoning(sums, sums_of_sums, host));
    sum[0] = host[0];
}

template SumRun<float> cuda_two_level<float>;
template SumRun<double> cuda_two_level<double>;

} // namespace reduction
