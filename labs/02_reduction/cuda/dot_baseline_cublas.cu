// Baseline: the vendor's library, cublasSdot and cublasDdot.
//
// In device-pointer mode the call does not wait for the result, which goes straight into mapped host memory, as in
// cuda_dot.
#include "dot.hpp"
#include "gpulab/cuda/cublas.hpp"
#include "gpulab/cuda/timing.hpp"

namespace reduction {

namespace {

cublasStatus_t cublas_dot(cublasHandle_t handle, std::int64_t n, const float* a, const float* b, float* result) {
    return cublasSdot_64(handle, n, a, 1, b, 1, result);
}
cublasStatus_t cublas_dot(cublasHandle_t handle, std::int64_t n, const double* a, const double* b, double* result) {
    return cublasDdot_64(handle, n, a, 1, b, 1, result);
}

} // namespace

template <class T> void cuda_dot_cublas(const DotProblem<T>& p, Scalar<T>& dot, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a), b(p.b);
    gpulab::PinnedBuffer<T> host(1, cudaHostAllocMapped);
    T* const result = host.on_device();
    const gpulab::CublasHandle handle;
    CUBLAS_CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    const auto launch = [&](cudaStream_t stream) {
        CUBLAS_CHECK(cublasSetStream(handle, stream));
        CUBLAS_CHECK(cublas_dot(handle, static_cast<std::int64_t>(p.size()), a.data(), b.data(), result));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(host));
    dot[0] = host[0];
}

template DotRun<float> cuda_dot_cublas<float>;
template DotRun<double> cuda_dot_cublas<double>;

} // namespace reduction
