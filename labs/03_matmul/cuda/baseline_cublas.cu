// Baseline: the vendor's library.
//
// cuBLAS stores matrices by columns: it reads our A, stored by rows, as the transpose of A. So we ask for the transpose
// of C, C^T = B^T A^T: B goes in first, and nothing has to be transposed. CUBLAS_PEDANTIC_MATH allows single-precision
// arithmetic only. In other modes, a setting or an environment variable can make the library round the inputs to
// TF32, a format with a 10-bit mantissa, for the tensor cores. That would be another computation.
#include <algorithm>

#include "gpulab/cuda/cublas.hpp"
#include "gpulab/cuda/timing.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void cuda_cublas(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<T> a(p.a), b(p.b);
    gpulab::DeviceBuffer<T> out(p.size());
    const gpulab::CublasHandle handle;
    CUBLAS_CHECK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    const T one = 1, zero = 0;
    const int m = static_cast<int>(p.m), k = static_cast<int>(p.k), n = static_cast<int>(p.n);
    const int b_pitch = std::max(n, 1), a_pitch = std::max(k, 1); // a pitch of 0 is an error, even of nothing
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        CUBLAS_CHECK(cublasSetStream(handle, stream));
        if constexpr (std::is_same_v<T, float>)
            CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b.data(), b_pitch, a.data(),
                                     a_pitch, &zero, out.data(), b_pitch));
        else
            CUBLAS_CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b.data(), b_pitch, a.data(),
                                     a_pitch, &zero, out.data(), b_pitch));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

INSTANTIATE_RUNG(cuda_cublas);

} // namespace matmul
