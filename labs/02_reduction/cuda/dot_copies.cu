// Study transfers: the dot product, timed with the copies of both vectors. (Alfaro Vigo & Rossetto, exercise 2.2)
#include <algorithm>
#include <numeric>

#include "block_sum.cuh"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "transfers.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 256;
}

/// As opencl_dot: each block writes the sum of its products. Any n with any grid.
template <class T> __global__ void copied_dot_kernel(const T* a, const T* b, std::size_t n, T* sums) {
    T mine = 0;
    // ANSWER dot
    //| (void)a, (void)b, (void)n;
    const std::size_t grid = gridDim.x * std::size_t{threads};
    for (std::size_t i = blockIdx.x * std::size_t{threads} + threadIdx.x; i < n; i += grid) mine += a[i] * b[i];
    // END ANSWER
    mine = block_sum<threads>(mine);
    if (threadIdx.x == 0) sums[blockIdx.x] = mine;
}

template <class T> void cuda_copies_and_dot(const DotProblem<T>& p, Scalar<T>& dot, Stopwatch& watch) {
    // ANSWER dot
    //| throw gpulab::Unsupported("withheld, because it tells the answer of the exercise dot");
    // END ANSWER
    const unsigned resident = gpulab::resident_blocks(copied_dot_kernel<T>, threads);
    const unsigned blocks = std::min(gpulab::grid_size(p.size(), threads), resident);
    gpulab::DeviceBuffer<T> a(p.size()), b(p.size()), sums(blocks); // allocated before the time starts
    std::vector<T> host(blocks);
    const auto launch = [&](cudaStream_t stream) { // the commands of a stream run one after another
        CUDA_CHECK(cudaMemcpyAsync(a.data(), p.a.data(), a.bytes(), cudaMemcpyHostToDevice, stream));
        CUDA_CHECK(cudaMemcpyAsync(b.data(), p.b.data(), b.bytes(), cudaMemcpyHostToDevice, stream));
        copied_dot_kernel<<<blocks, threads, 0, stream>>>(a.data(), b.data(), p.size(), sums.data());
        CUDA_CHECK_LAUNCH();
        CUDA_CHECK(cudaMemcpyAsync(host.data(), sums.data(), sums.bytes(), cudaMemcpyDeviceToHost, stream));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(a, b, sums));
    sums.copy_to(host); // the same numbers again, and a check of the guard bands
    dot[0] = static_cast<T>(std::accumulate(host.begin(), host.end(), 0.0));
}

template DotRun<float> cuda_copies_and_dot<float>;
template DotRun<double> cuda_copies_and_dot<double>;

} // namespace reduction
