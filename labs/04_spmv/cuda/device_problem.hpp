/// @file
/// The problem in device memory: what every CSR rung copies in.
#pragma once

#include "gpulab/cuda/buffer.hpp"
#include "spmv.hpp"

namespace spmv {

/// A CSR matrix with 32-bit offsets, and x.
template <class T> struct DeviceProblem {
    explicit DeviceProblem(const Problem<T>& p)
        : rows(static_cast<int>(p.matrix.rows)), nonzeros(static_cast<int>(p.matrix.nonzeros())),
          row_start(narrow_offsets(p.matrix)), column(p.matrix.column), value(p.matrix.value), x(p.x) {}

    int rows;
    int nonzeros;
    gpulab::DeviceBuffer<int> row_start; ///< rows + 1
    gpulab::DeviceBuffer<int> column;
    gpulab::DeviceBuffer<T> value;
    gpulab::DeviceBuffer<T> x;
};

} // namespace spmv
