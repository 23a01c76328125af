// The update of one panel alone, for the study called update: the products of cuda_blocked_pivot and cuda_tensor_pivot,
// and that of the vendor's library.
#include "gpulab/cuda/cublas.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"
#include "studies.hpp"

namespace lu {

namespace {

/// Runs update(a21, a12, c, n, m, width, stream), where C is m x m and all have rows n apart.
template <class Update>
void run_update(const Problem& p, std::vector<double>& c, Stopwatch& watch, int width, const Update& update) {
    const int n = static_cast<int>(p.n), m = n - width;
    const gpulab::DeviceBuffer<double> a(p.a);
    gpulab::DeviceBuffer<double> out(p.a.size());
    const std::size_t below = std::size_t(width) * n;
    const auto launch = [&](cudaStream_t stream) {
        update(a.data() + below, a.data() + width, out.data() + below + width, n, m, width, stream);
    };
    const auto reset = [&](cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(out.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, stream));
    };
    gpulab::watch_stream(watch, launch, reset);
    std::vector<double> all(p.a.size());
    out.copy_to(all);
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) c[std::size_t(i) * m + j] = all[below + std::size_t(i) * n + width + j];
}

} // namespace

void cuda_update_tiled(const Problem& p, std::vector<double>& c, Stopwatch& watch, int width) {
    run_update(p, c, watch, width,
               [](const double* l, const double* u, double* out, int n, int m, int k, cudaStream_t stream) {
                   update_tiled(l, n, u, out, n, m, m, k, stream);
               });
}

void cuda_update_tensor(const Problem& p, std::vector<double>& c, Stopwatch& watch, int width) {
    require_tensor_cores();
    run_update(p, c, watch, width,
               [](const double* l, const double* u, double* out, int n, int m, int k, cudaStream_t stream) {
                   update_tensor(l, u, out, n, m, m, k, stream);
               });
}

void cuda_update_cublas(const Problem& p, std::vector<double>& c, Stopwatch& watch, int width) {
    const gpulab::CublasHandle handle;
    run_update(p, c, watch, width,
               [&](const double* l, const double* u, double* out, int n, int m, int k, cudaStream_t stream) {
                   // Row by row is column by column transposed: C^T -= U^T L^T.
                   const double minus = -1, one = 1;
                   CUBLAS_CHECK(cublasSetStream(handle, stream));
                   CUBLAS_CHECK(
                       cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, m, k, &minus, u, n, l, n, &one, out, n));
               });
}

} // namespace lu
