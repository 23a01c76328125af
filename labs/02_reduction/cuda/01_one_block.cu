// Rung 1: one block, by doubling stride. (Alfaro Vigo & Rossetto, program 2.6)
//
// At step s = 1, 2, 4, ... thread i adds the element s places before its own. After log2(n) steps element i holds the
// sum of all elements up to i; the last one is the result.
// The elements are in shared memory (__shared__), a small fast memory of the block that all its threads read and
// write. A barrier (__syncthreads) holds each thread until all threads of the block have reached it. Each step has two:
// no thread may write an element before its neighbour has read it, and none may begin the next step before all have
// written.
// Changed from the printed program: the elements are copied to shared memory first, so the input is not changed.
// Limit: one block, 1024 elements, one multiprocessor at work. And it computes n sums to use one.
#include <algorithm>
#include <string>

#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "reduction.hpp"

namespace reduction {

namespace {
constexpr unsigned most = 1024; // threads of one block on every current GPU
}

/// One thread per element of one block; n <= blockDim.x <= 1024.
template <class T> __global__ void one_block_kernel(const T* a, unsigned n, T* sum) {
    // ANSWER prefix-sum
    __shared__ T x[most];
    const unsigned i = threadIdx.x;
    x[i] = i < n ? a[i] : T{0};
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        T before{};
        if (i >= stride) before = x[i - stride];
        __syncthreads(); // all have read
        if (i >= stride) x[i] += before;
        __syncthreads(); // all have written
    }
    if (i == blockDim.x - 1) *sum = x[i];
    // END ANSWER
}

template <class T> void cuda_one_block(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    if (p.size() > most)
        throw gpulab::Unsupported("n = " + std::to_string(p.size()) + " does not fit one block of " +
                                  std::to_string(most) + " threads");
    const gpulab::DeviceBuffer<T> a(p.a); // allocate, copy in
    gpulab::DeviceBuffer<T> result(1);
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped); // mapped, so that a stream can fill it with NaN
    const auto n = static_cast<unsigned>(p.size());
    const auto launch = [&](cudaStream_t stream) { // kernel time: until the sum is in host memory
        one_block_kernel<<<1, std::max(n, 1u), 0, stream>>>(a.data(), n, result.data());
        CUDA_CHECK(cudaMemcpyAsync(host.data(), result.data(), sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    watch.tile(std::size_t{most});
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, host));
    sum[0] = host[0];
}

template SumRun<float> cuda_one_block<float>;
template SumRun<double> cuda_one_block<double>;

} // namespace reduction
