// Histogram, rung 1: a thread per element.
//
// Many threads change the same number at the same time, so each addition is atomic.
// Limit: threads that count in one bin wait for each other, and every count goes to global memory.
#include "gpulab/cuda/timing.hpp"
#include "histogram.hpp"

namespace reduction {

namespace {
constexpr unsigned threads = 256;
}

/// One thread per element. @param counts 0 before the launch
template <class T> __global__ void histogram_global_kernel(const T* a, std::size_t n, unsigned* counts) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < n) atomicAdd(&counts[static_cast<unsigned>(a[i])], 1u); // without its fraction x is the number of its bin
}

template <class T> void cuda_histogram_global(const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<std::uint32_t> result(p.bins);
    const auto launch = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemsetAsync(result.data(), 0, result.bytes(), stream));
        histogram_global_kernel<<<gpulab::grid_size(p.size(), threads), threads, 0, stream>>>(a.data(), p.size(),
                                                                                              result.data());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(counts);
}

template HistogramRun<float> cuda_histogram_global<float>;
template HistogramRun<double> cuda_histogram_global<double>;

} // namespace reduction
