/// @file
/// The products of the formats with 64-bit offsets, for matrices that are in device memory already: the tests make
/// matrices of more than 2^31 slots there.
#pragma once

#include "gpulab/cuda/buffer.hpp"

namespace spmv {

inline constexpr unsigned ell_threads = 128; ///< of a block, one per row
inline constexpr unsigned coo_threads = 256; ///< of a block, one per entry

/// Enqueues the product of an ELL matrix in a stream. Slot s of row i is stored at s * rows + i.
/// @param column,value y.size() * width slots; column -1 is padding
template <class T>
void ell_product(const gpulab::DeviceBuffer<int>& column, const gpulab::DeviceBuffer<T>& value,
                 const gpulab::DeviceBuffer<T>& x, gpulab::DeviceBuffer<T>& y, std::size_t width, cudaStream_t stream);

/// Enqueues in a stream the clearing of y and the product of a COO matrix with entries in any order.
/// @param row,column,value one element per entry
template <class T>
void coo_product(const gpulab::DeviceBuffer<int>& row, const gpulab::DeviceBuffer<int>& column,
                 const gpulab::DeviceBuffer<T>& value, const gpulab::DeviceBuffer<T>& x, gpulab::DeviceBuffer<T>& y,
                 cudaStream_t stream);

/// The same, added to what is in y.
template <class T>
void add_coo_product(const gpulab::DeviceBuffer<int>& row, const gpulab::DeviceBuffer<int>& column,
                     const gpulab::DeviceBuffer<T>& value, const gpulab::DeviceBuffer<T>& x, gpulab::DeviceBuffer<T>& y,
                     cudaStream_t stream);

} // namespace spmv
