// Baseline: cublasSaxpy, from NVIDIA's library.
//
// It computes y = k x + y in place, so b is copied into y before every run; this copy is not timed.
// It moves the same 12 bytes per element: it reads x and y and writes y.
#include "gpulab/cuda/cublas.hpp"
#include "gpulab/cuda/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

void cuda_cublas(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    const gpulab::CublasHandle handle;
    const auto reset = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(out.data(), b.data(), b.bytes(), cudaMemcpyDeviceToDevice, stream));
    };
    const auto launch = [&](cudaStream_t stream) {
        CUBLAS_CHECK(cublasSetStream(handle, stream));
        CUBLAS_CHECK(cublasSaxpy_64(handle, static_cast<std::int64_t>(p.size()), &p.k, a.data(), 1, out.data(), 1));
    };
    gpulab::watch_stream(watch, launch, reset);
    out.copy_to(c);
}

} // namespace saxpy
