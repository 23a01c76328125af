/// @file
/// The products of the formats whose offsets have 64 bits, on what lies in device memory already: a matrix of more than
/// 2^31 slots is better made on the device than copied there.
#pragma once

#include "gpulab/cuda/buffer.hpp"

namespace spmv {

/// ELL: slot s of row i at s * rows + i. Puts the product into a stream.
/// @param column,value y.size() * width slots; column -1 is padding
template <class T>
void ell_product(const gpulab::DeviceBuffer<int>& column, const gpulab::DeviceBuffer<T>& value,
                 const gpulab::DeviceBuffer<T>& x, gpulab::DeviceBuffer<T>& y, std::size_t width, cudaStream_t stream);

/// COO, entries in any order. Puts the clearing of y and the product into a stream.
/// @param row,column,value as long as each other
template <class T>
void coo_product(const gpulab::DeviceBuffer<int>& row, const gpulab::DeviceBuffer<int>& column,
                 const gpulab::DeviceBuffer<T>& value, const gpulab::DeviceBuffer<T>& x, gpulab::DeviceBuffer<T>& y,
                 cudaStream_t stream);

} // namespace spmv
