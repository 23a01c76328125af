// Baseline: the vendor's library, cub::DeviceReduce::Sum. In its own file, because CUB takes long to compile.
//
// Measured like our own variants, until the sum is in host memory. Once as the library's examples do it, with the
// result in device memory and a copy; once with the result in mapped host memory, as rung 8 does, so that the
// comparison is not about the copy.
#include <cub/device/device_reduce.cuh>
#include <limits>

#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "reduction.hpp"

namespace reduction {

namespace {

template <class T> void cub_sum(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch, bool mapped) {
    if (p.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw gpulab::Unsupported("this baseline counts in 32 bits");
    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<T> result(1);
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    const auto n = static_cast<int>(p.size());
    T* const to = mapped ? host.on_device() : result.data();
    std::size_t bytes = 0;
    CUDA_CHECK(cub::DeviceReduce::Sum(nullptr, bytes, a.data(), to, n)); // asks how much scratch memory it needs
    gpulab::DeviceBuffer<unsigned char> scratch(bytes);
    const auto launch = [&](cudaStream_t stream) {
        CUDA_CHECK(cub::DeviceReduce::Sum(scratch.data(), bytes, a.data(), to, n, stream));
        if (!mapped) CUDA_CHECK(cudaMemcpyAsync(host.data(), to, sizeof(T), cudaMemcpyDeviceToHost, stream));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, host, scratch));
    sum[0] = host[0];
}

} // namespace

template <class T> void cuda_cub(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    cub_sum(p, sum, watch, false);
}

template <class T> void cuda_cub_mapped(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    cub_sum(p, sum, watch, true);
}

template SumRun<float> cuda_cub<float>;
template SumRun<double> cuda_cub<double>;
template SumRun<float> cuda_cub_mapped<float>;
template SumRun<double> cuda_cub_mapped<double>;

} // namespace reduction
