/// @file
/// cuSPARSE handles and descriptors that free themselves, and checked cuSPARSE calls. For the baselines.
#pragma once

#include <cstdint>
#include <cusparse.h>
#include <string>
#include <type_traits>
#include <utility>

#include "gpulab/error.hpp"

namespace gpulab {

namespace detail {
inline void cusparse_check(cusparseStatus_t status, const char* call, const char* file, int line) {
    if (status != CUSPARSE_STATUS_SUCCESS)
        throw Error(std::string(call) + ": " + cusparseGetErrorString(status) + " (" + file + ":" +
                    std::to_string(line) + ")");
}
} // namespace detail

} // namespace gpulab

/// Throws gpulab::Error unless the cuSPARSE call succeeds; the message names call, file and line.
#define CUSPARSE_CHECK(call) ::gpulab::detail::cusparse_check((call), #call, __FILE__, __LINE__)

namespace gpulab {

/// cuSPARSE on the current device. Move-only.
class CusparseHandle {
public:
    CusparseHandle() { CUSPARSE_CHECK(cusparseCreate(&handle_)); }
    ~CusparseHandle() {
        if (handle_) cusparseDestroy(handle_);
    }
    CusparseHandle(CusparseHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    CusparseHandle& operator=(CusparseHandle&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    operator cusparseHandle_t() const { return handle_; }

private:
    cusparseHandle_t handle_ = nullptr;
};

/// cuSPARSE's names for float and double.
template <class T> inline constexpr cudaDataType cuda_data_type = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

/// cuSPARSE's view of a CSR matrix in device memory, with 32-bit offsets and columns counted from 0. Move-only.
class CusparseCsr {
public:
    /// @param row_start,column,value device arrays of rows + 1, nonzeros and nonzeros elements, which must outlive this
    template <class T>
    CusparseCsr(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros, const std::int32_t* row_start,
                const std::int32_t* column, const T* value) {
        CUSPARSE_CHECK(cusparseCreateCsr(&matrix_, rows, columns, nonzeros, const_cast<std::int32_t*>(row_start),
                                         const_cast<std::int32_t*>(column), const_cast<T*>(value), CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, cuda_data_type<T>));
    }
    ~CusparseCsr() {
        if (matrix_) cusparseDestroySpMat(matrix_);
    }
    CusparseCsr(CusparseCsr&& other) noexcept : matrix_(std::exchange(other.matrix_, nullptr)) {}
    CusparseCsr& operator=(CusparseCsr&& other) noexcept {
        std::swap(matrix_, other.matrix_);
        return *this;
    }
    operator cusparseSpMatDescr_t() const { return matrix_; }

private:
    cusparseSpMatDescr_t matrix_ = nullptr;
};

/// cuSPARSE's view of a dense vector in device memory. Move-only.
class CusparseVector {
public:
    /// @param values device array of n elements, which must outlive this
    template <class T> CusparseVector(std::int64_t n, const T* values) {
        CUSPARSE_CHECK(cusparseCreateDnVec(&vector_, n, const_cast<T*>(values), cuda_data_type<T>));
    }
    ~CusparseVector() {
        if (vector_) cusparseDestroyDnVec(vector_);
    }
    CusparseVector(CusparseVector&& other) noexcept : vector_(std::exchange(other.vector_, nullptr)) {}
    CusparseVector& operator=(CusparseVector&& other) noexcept {
        std::swap(vector_, other.vector_);
        return *this;
    }
    operator cusparseDnVecDescr_t() const { return vector_; }

private:
    cusparseDnVecDescr_t vector_ = nullptr;
};

} // namespace gpulab
