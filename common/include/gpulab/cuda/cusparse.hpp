/// @file
/// cuSPARSE handles and descriptors that free themselves, and checked cuSPARSE calls. For the baselines.
#pragma once

#include <cstdint>
#include <cusparse.h>
#include <type_traits>

#include "gpulab/cuda/handle.hpp"

/// Throws gpulab::Error unless the cuSPARSE call succeeds; the message names call, file and line.
#define CUSPARSE_CHECK(call) ::gpulab::detail::cusparse_check((call), #call, __FILE__, __LINE__)

namespace gpulab {

namespace detail {
inline void cusparse_check(cusparseStatus_t status, const char* call, const char* file, int line) {
    if (status != CUSPARSE_STATUS_SUCCESS) throw library_error(call, cusparseGetErrorString(status), file, line);
}
} // namespace detail

/// cuSPARSE on the current device. Move-only.
class CusparseHandle : public detail::Handle<cusparseHandle_t, cusparseDestroy> {
public:
    CusparseHandle() { CUSPARSE_CHECK(cusparseCreate(&handle_)); }
};

/// cuSPARSE's names for float and double.
template <class T> inline constexpr cudaDataType cuda_data_type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

/// cuSPARSE's view of a CSR matrix in device memory, with 32-bit offsets and columns counted from 0. Move-only.
class CusparseCsr : public detail::Handle<cusparseSpMatDescr_t, cusparseDestroySpMat> {
public:
    /// @param row_start,column,value device arrays of rows + 1, nonzeros and nonzeros elements, which must outlive this
    template <class T>
    CusparseCsr(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros, const std::int32_t* row_start,
                const std::int32_t* column, const T* value) {
        CUSPARSE_CHECK(cusparseCreateCsr(&handle_, rows, columns, nonzeros, const_cast<std::int32_t*>(row_start),
                                         const_cast<std::int32_t*>(column), const_cast<T*>(value), CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, cuda_data_type<T>));
    }
};

/// cuSPARSE's view of a dense vector in device memory. Move-only.
class CusparseVector : public detail::Handle<cusparseDnVecDescr_t, cusparseDestroyDnVec> {
public:
    /// @param values device array of n elements, which must outlive this
    template <class T> CusparseVector(std::int64_t n, const T* values) {
        CUSPARSE_CHECK(cusparseCreateDnVec(&handle_, n, const_cast<T*>(values), cuda_data_type<T>));
    }
};

} // namespace gpulab
