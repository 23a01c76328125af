// Baseline: the vendor's library, with both of its algorithms for CSR.
//
// CUSPARSE_SPMV_CSR_ALG1 is the default; CUSPARSE_SPMV_CSR_ALG2 gives the same bits in every run. Both get the
// workspace that they ask for. cusparseSpMV_preprocess is called once per matrix, outside the timing.
#include "device_problem.hpp"
#include "gpulab/cuda/cusparse.hpp"
#include "gpulab/cuda/timing.hpp"

namespace spmv {

namespace {

template <class T> void multiply(cusparseSpMVAlg_t algorithm, const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const DeviceProblem<T> a(p);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);
    if (p.matrix.nonzeros() == 0) { // y is zero; cuSPARSE does not accept null pointers
        gpulab::watch_stream(
            watch, [&](cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(out.data(), 0, out.bytes(), stream)); },
            gpulab::poisoning(out));
        out.copy_to(y);
        return;
    }
    const gpulab::CusparseHandle handle;
    const gpulab::CusparseCsr matrix(a.rows, static_cast<std::int64_t>(p.matrix.columns), a.nonzeros,
                                     a.row_start.data(), a.column.data(), a.value.data());
    const gpulab::CusparseVector in(static_cast<std::int64_t>(p.x.size()), a.x.data()), result(a.rows, out.data());
    const T one = 1, zero = 0; // y = 1 A x + 0 y
    constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    constexpr cudaDataType type = gpulab::cuda_data_type<T>;
    std::size_t bytes = 0;
    CUSPARSE_CHECK(cusparseSpMV_bufferSize(handle, plain, &one, matrix, in, &zero, result, type, algorithm, &bytes));
    gpulab::DeviceBuffer<unsigned char> work_space(bytes);
    CUSPARSE_CHECK(
        cusparseSpMV_preprocess(handle, plain, &one, matrix, in, &zero, result, type, algorithm, work_space.data()));
    CUDA_CHECK(cudaDeviceSynchronize());
    const auto launch = [&](cudaStream_t stream) {
        CUSPARSE_CHECK(cusparseSetStream(handle, stream));
        CUSPARSE_CHECK(
            cusparseSpMV(handle, plain, &one, matrix, in, &zero, result, type, algorithm, work_space.data()));
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

} // namespace

template <class T> void cuda_cusparse_alg1(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    multiply(CUSPARSE_SPMV_CSR_ALG1, p, y, watch);
}

template <class T> void cuda_cusparse_alg2(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    multiply(CUSPARSE_SPMV_CSR_ALG2, p, y, watch);
}

INSTANTIATE_RUNG(cuda_cusparse_alg1);
INSTANTIATE_RUNG(cuda_cusparse_alg2);

} // namespace spmv
