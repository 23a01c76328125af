// Baseline: the vendor's libraries. cuSPARSE for the product, cuBLAS for the rest, the scalars on the host.
//
// As a user of the libraries writes it: dot products return to the host, which waits for them.
#include <optional>
#include <type_traits>

#include "csr.cuh"
#include "device.hpp"
#include "gpulab/cuda/cublas.hpp"
#include "gpulab/cuda/cusparse.hpp"
#include "scalars.hpp"

namespace cg {

namespace {

/// The one of two functions that is for T.
template <class T, class Single, class Double> constexpr auto for_type(Single in_float, Double in_double) {
    if constexpr (std::is_same_v<T, float>) return in_float;
    else return in_double;
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
    const auto dot = for_type<T>(cublasSdot, cublasDdot);
    const auto axpy = for_type<T>(cublasSaxpy, cublasDaxpy);
    const auto scale = for_type<T>(cublasSscal, cublasDscal);
    const auto multiply_by = for_type<T>(cublasSdgmm, cublasDdgmm);
    const T one = 1, zero = 0, minus_one = -1; // q = 1 A p + 0 q
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
            if (n > 0) CUBLAS_CHECK(dot(dense, n, x.data(), 1, y.data(), 1, &sum)); // waits
            return static_cast<double>(sum);
        };
        gpulab::DeviceBuffer<T>& direction = v.jacobi ? z : v.r; // z
        double rr = 0, rho = 0;
        const auto residual = [&] {
            if (v.jacobi && n > 0)
                CUBLAS_CHECK(multiply_by(dense, CUBLAS_SIDE_LEFT, n, 1, v.r.data(), n, v.weights(), 1, z.data(), n));
            rr = dot_of(v.r, v.r);
            rho = v.jacobi ? dot_of(v.r, z) : rr;
        };
        Scalars<T> scalars(problem, out);
        product(); // p holds x_0 here
        CUBLAS_CHECK(axpy(dense, n, &minus_one, v.q.data(), 1, v.r.data(), 1));
        residual();
        scalars.begin(rr, rho);
        CUDA_CHECK(cudaMemcpyAsync(v.p.data(), direction.data(), v.p.bytes(), cudaMemcpyDeviceToDevice, stream));
        while (scalars.wants_more()) {
            product();
            if (!scalars.accepts(dot_of(v.p, v.q))) break;
            const auto alpha = static_cast<T>(scalars.alpha()), minus_alpha = -alpha;
            CUBLAS_CHECK(axpy(dense, n, &alpha, v.p.data(), 1, v.x.data(), 1));
            CUBLAS_CHECK(axpy(dense, n, &minus_alpha, v.q.data(), 1, v.r.data(), 1));
            residual();
            scalars.next(rr, rho);
            const auto beta = static_cast<T>(scalars.beta());
            CUBLAS_CHECK(scale(dense, n, &beta, v.p.data(), 1));
            CUBLAS_CHECK(axpy(dense, n, &one, direction.data(), 1, v.p.data(), 1));
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
