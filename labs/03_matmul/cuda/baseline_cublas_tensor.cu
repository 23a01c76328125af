// Baselines: the vendor's library on tensor cores, in the precisions of cuda_tensor_fp16, _bf16 and _tf32.
//
// As in baseline_cublas.cu the library sees all matrices transposed. FP16 and BF16 take matrices that were rounded
// beforehand, and give float. TF32 takes floats, as the rung does; the tensor cores ignore their last 13 bits.
#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpulab/cuda/cublas.hpp"
#include "gpulab/cuda/timing.hpp"
#include "matmul.hpp"
#include "narrow.hpp"

namespace matmul {

namespace {

/// C = A B by cuBLAS, with matrices of one type in the mode of one type of computation.
void multiply(const Problem<float>& p, Output<float>& c, Stopwatch& watch, const void* a, std::size_t a_pitch,
              const void* b, std::size_t b_pitch, cudaDataType_t type, cublasComputeType_t compute) {
    gpulab::DeviceBuffer<float> out(p.size());
    const gpulab::CublasHandle handle;
    const float one = 1, zero = 0;
    const int m = static_cast<int>(p.m), k = static_cast<int>(p.k), n = static_cast<int>(p.n);
    const int lda = static_cast<int>(std::max<std::size_t>(a_pitch, 1)); // 0 is an error, even of nothing
    const int ldb = static_cast<int>(std::max<std::size_t>(b_pitch, 1));
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        CUBLAS_CHECK(cublasSetStream(handle, stream));
        CUBLAS_CHECK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, type, ldb, a, type, lda, &zero,
                                  out.data(), CUDA_R_32F, n, compute, CUBLAS_GEMM_DEFAULT));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

/// The same with matrices rounded to a 16-bit format.
template <class Number>
void multiply_narrow(const Problem<float>& p, Output<float>& c, Stopwatch& watch, cudaDataType_t type) {
    const NarrowMatrix<Number> a(p.a, p.m, p.k), b(p.b, p.k, p.n);
    multiply(p, c, watch, a.data(), a.pitch(), b.data(), b.pitch(), type, CUBLAS_COMPUTE_32F);
}

} // namespace

void cuda_cublas_fp16(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply_narrow<half>(p, c, watch, CUDA_R_16F);
}

void cuda_cublas_bf16(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    multiply_narrow<__nv_bfloat16>(p, c, watch, CUDA_R_16BF);
}

void cuda_cublas_tf32(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    multiply(p, c, watch, a.data(), p.k, b.data(), p.n, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
}

} // namespace matmul
