/// @file
/// A matrix in CSR form on the device.
#pragma once

#include <cstddef>

#include "cg.hpp"
#include "gpulab/cuda/buffer.hpp"

namespace cg {

/// CSR: the non-zeros of a row side by side (lab 04).
template <class T> struct CsrRows {
    const int* row_start;
    const int* column;
    const T* value;
    std::size_t rows;

    __device__ T product(std::size_t i, const T* p) const {
        // EXERCISE product
        //| // TODO: the product of row i and p.
        //| (void)i, (void)p;
        //| return 0;
        T sum = 0;
        for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * p[column[k]];
        return sum;
        // END EXERCISE
    }
};

/// CSR on the device.
template <class T> struct DeviceCsr {
    explicit DeviceCsr(const gpulab::Csr<T>& a)
        : rows(a.rows), row_start(narrow_offsets(a)), column(a.column), value(a.value) {}
    CsrRows<T> view() const { return {row_start.data(), column.data(), value.data(), rows}; }

    std::size_t rows;
    gpulab::DeviceBuffer<int> row_start, column;
    gpulab::DeviceBuffer<T> value;
};

} // namespace cg
