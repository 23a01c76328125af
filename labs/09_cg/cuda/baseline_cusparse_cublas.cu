// Baseline: the vendor's libraries. cuSPARSE for the product, cuBLAS for the rest, the scalars on the host.
//
// As a user of the libraries writes it: dot products return to the host, which waits for them.
#include <optional>

#include "csr.cuh"
#include "device.hpp"
#include "gpulab/cuda/cublas.hpp"
#include "gpulab/cuda/cusparse.hpp"
#include "scalars.hpp"

namespace cg {

namespace {

// One name for the functions of float and double.
cublasStatus_t dot(cublasHandle_t h, int n, const float* a, const float* b, float* sum) {
    return cublasSdot(h, n, a, 1, b, 1, sum);
}
cublasStatus_t dot(cublasHandle_t h, int n, const double* a, const double* b, double* sum) {
    return cublasDdot(h, n, a, 1, b, 1, sum);
}
cublasStatus_t axpy(cublasHandle_t h, int n, float k, const float* a, float* b) {
    return cublasSaxpy(h, n, &k, a, 1, b, 1);
}
cublasStatus_t axpy(cublasHandle_t h, int n, double k, const double* a, double* b) {
    return cublasDaxpy(h, n, &k, a, 1, b, 1);
}
cublasStatus_t scale(cublasHandle_t h, int n, float k, float* a) { return cublasSscal(h, n, &k, a, 1); }
cublasStatus_t scale(cublasHandle_t h, int n, double k, double* a) { return cublasDscal(h, n, &k, a, 1); }
cublasStatus_t multiply_by(cublasHandle_t h, int n, const float* a, const float* weights, float* out) {
    return cublasSdgmm(h, CUBLAS_SIDE_LEFT, n, 1, a, n, weights, 1, out, n);
}
cublasStatus_t multiply_by(cublasHandle_t h, int n, const double* a, const double* weights, double* out) {
    return cublasDdgmm(h, CUBLAS_SIDE_LEFT, n, 1, a, n, weights, 1, out, n);
}

} // namespace

template <class T> void cuda_cusparse_cublas(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const DeviceCsr<T> matrix(problem.matrix);
    DeviceVectors<T> v(problem);
    const auto n = static_cast<int>(v.n);
    const auto nonzeros = static_cast<std::int64_t>(problem.matrix.nonzeros());
    gpulab::DeviceBuffer<T> z(v.jacobi ? v.n : 0);
    const gpulab::CusparseHandle sparse;
    const gpulab::CublasHandle dense;
    const T one = 1, zero = 0; // q = 1 A p + 0 q
    constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    constexpr cudaDataType type = gpulab::cuda_data_type<T>;
    constexpr auto algorithm = CUSPARSE_SPMV_CSR_ALG1;
    // cuSPARSE takes no empty matrix; its product is zero.
    std::optional<gpulab::CusparseCsr> a;
    std::optional<gpulab::CusparseVector> in, result;
    gpulab::DeviceBuffer<unsigned char> work_space(0);
    if (nonzeros > 0) {
        a.emplace(n, n, nonzeros, matrix.row_start.data(), matrix.column.data(), matrix.value.data());
        in.emplace(n, v.p.data());
        result.emplace(n, v.q.data());
        std::size_t bytes = 0;
        CUSPARSE_CHECK(cusparseSpMV_bufferSize(sparse, plain, &one, *a, *in, &zero, *result, type, algorithm, &bytes));
        work_space = gpulab::DeviceBuffer<unsigned char>(bytes);
        CUSPARSE_CHECK(
            cusparseSpMV_preprocess(sparse, plain, &one, *a, *in, &zero, *result, type, algorithm, work_space.data()));
        CUDA_CHECK(cudaDeviceSynchronize());
    }

    const auto solve = [&](cudaStream_t stream) {
        CUSPARSE_CHECK(cusparseSetStream(sparse, stream));
        CUBLAS_CHECK(cublasSetStream(dense, stream));
        const auto product = [&] {
            if (nonzeros == 0) CUDA_CHECK(cudaMemsetAsync(v.q.data(), 0, v.q.bytes(), stream));
            else
                CUSPARSE_CHECK(
                    cusparseSpMV(sparse, plain, &one, *a, *in, &zero, *result, type, algorithm, work_space.data()));
        };
        const auto dot_of = [&](const gpulab::DeviceBuffer<T>& x, const gpulab::DeviceBuffer<T>& y) {
            T sum = 0;
            if (n > 0) CUBLAS_CHECK(dot(dense, n, x.data(), y.data(), &sum)); // waits
            return static_cast<double>(sum);
        };
        gpulab::DeviceBuffer<T>& direction = v.jacobi ? z : v.r; // z
        double rr = 0, rho = 0;
        const auto residual = [&] {
            if (v.jacobi && n > 0) CUBLAS_CHECK(multiply_by(dense, n, v.r.data(), v.weights(), z.data()));
            rr = dot_of(v.r, v.r);
            rho = v.jacobi ? dot_of(v.r, z) : rr;
        };
        Scalars<T> scalars(problem, out);
        product(); // p holds x_0 here
        CUBLAS_CHECK(axpy(dense, n, T(-1), v.q.data(), v.r.data()));
        residual();
        scalars.begin(rr, rho);
        CUDA_CHECK(cudaMemcpyAsync(v.p.data(), direction.data(), v.p.bytes(), cudaMemcpyDeviceToDevice, stream));
        while (scalars.wants_more()) {
            product();
            if (!scalars.accepts(dot_of(v.p, v.q))) break;
            const auto alpha = static_cast<T>(scalars.alpha());
            CUBLAS_CHECK(axpy(dense, n, alpha, v.p.data(), v.x.data()));
            CUBLAS_CHECK(axpy(dense, n, -alpha, v.q.data(), v.r.data()));
            residual();
            scalars.next(rr, rho);
            CUBLAS_CHECK(scale(dense, n, static_cast<T>(scalars.beta()), v.p.data()));
            CUBLAS_CHECK(axpy(dense, n, T(1), direction.data(), v.p.data()));
        }
    };
    gpulab::watch_stream(watch, solve, [&](cudaStream_t stream) {
        v.reset(stream);
        gpulab::poisoning(z)(stream);
    });
    v.solution(out.x);
}

INSTANTIATE_RUNG(cuda_cusparse_cublas);

} // namespace cg
