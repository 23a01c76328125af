/// @file
/// Converts one layout to the other on the device: shared by cuda_thomas_interleaved and the vendor's interleaved
/// solver.
#pragma once

#include <algorithm>
#include <vector>

#include "device_problem.hpp"
#include "gpulab/math.hpp"

namespace tridiagonal {

/// Side of the square that a block transposes; it has transpose_side * transpose_rows threads.
inline constexpr unsigned transpose_side = 32, transpose_rows = 8;

/// to[column * rows + row] = from[row * columns + column]. Both the loads and the stores of a warp are coalesced:
/// row and column change places in shared memory, whose rows have one number more than the square, so that the 32
/// numbers of a column lie in different banks. Squares are numbered along the rows, and a block takes one.
template <class T> __global__ void transpose_kernel(const T* from, T* to, unsigned rows, unsigned columns) {
    __shared__ T square[transpose_side][transpose_side + 1];
    const unsigned across = (columns + transpose_side - 1) / transpose_side;
    const unsigned row_0 = blockIdx.x / across * transpose_side, column_0 = blockIdx.x % across * transpose_side;
    for (unsigned k = threadIdx.y; k < transpose_side; k += transpose_rows) {
        const unsigned row = row_0 + k, column = column_0 + threadIdx.x;
        if (row < rows && column < columns)
            square[k][threadIdx.x] = from[static_cast<std::size_t>(row) * columns + column];
    }
    __syncthreads();
    for (unsigned k = threadIdx.y; k < transpose_side; k += transpose_rows) {
        const unsigned row = row_0 + threadIdx.x, column = column_0 + k;
        if (row < rows && column < columns) to[static_cast<std::size_t>(column) * rows + row] = square[threadIdx.x][k];
    }
}

/// Puts the transposition of a matrix into a stream.
template <class T>
void transpose(const gpulab::DeviceBuffer<T>& from, gpulab::DeviceBuffer<T>& to, unsigned rows, unsigned columns,
               cudaStream_t stream) {
    const std::size_t squares = gpulab::ceil_div(rows, transpose_side) * gpulab::ceil_div(columns, transpose_side);
    transpose_kernel<<<static_cast<unsigned>(squares), dim3(transpose_side, transpose_rows), 0, stream>>>(
        from.data(), to.data(), rows, columns);
}

/// a, b, c and d with row 0 of all systems side by side, then row 1, ...; and x in the same layout.
///
/// With Layout::separate the arrays come to the device one system after the other, and fill() and take_out() transpose
/// them there, in the time of the kernel. With Layout::interleaved nothing is transposed there.
template <class T> class InterleavedProblem {
public:
    explicit InterleavedProblem(const Problem<T>& p)
        : n_(static_cast<unsigned>(p.n)), systems_(static_cast<unsigned>(p.systems)),
          transposes_(p.layout == Layout::separate), a(p.size()), b(p.size()), c(p.size()), d(p.size()), x(p.size()) {
        const std::vector<T>* const from[] = {&p.a, &p.b, &p.c, &p.d};
        gpulab::DeviceBuffer<T>* const to[] = {&a, &b, &c, &d};
        for (std::size_t k = 0; k < 4; ++k) {
            if (transposes_) given_.emplace_back(*from[k]);
            else to[k]->copy_from(interleave(*from[k], p.n, p.systems));
        }
        if (transposes_) x_separate_.emplace_back(p.size());
    }

    /// Whether the kernel's time includes transposing.
    bool transposes() const { return transposes_; }

    /// Puts the transposition of a, b, c and d into a stream, where there is something to transpose.
    /// @param d_into_x for a solver that works in place and expects d in x
    void fill(cudaStream_t stream, bool d_into_x = false) {
        if (!transposes_) return;
        gpulab::DeviceBuffer<T>* const to[] = {&a, &b, &c, d_into_x ? &x : &d};
        for (std::size_t k = 0; k < 4; ++k) transpose(given_[k], *to[k], systems_, n_, stream);
    }
    /// The same for x, on its way back.
    void take_out(cudaStream_t stream) {
        if (transposes_) transpose(x, x_separate_[0], n_, systems_, stream);
    }
    /// Copies x to the host, one system after the other.
    void copy_x_to(std::vector<T>& host) const {
        if (transposes_) {
            x_separate_[0].copy_to(host);
        } else {
            x.copy_to(host);
            host = separate(host, n_, systems_);
        }
    }
    /// Poisons what the kernels of a run compute.
    void poison_async(cudaStream_t stream) {
        x.poison_async(stream);
        if (!transposes_) return;
        for (gpulab::DeviceBuffer<T>* const buffer : {&a, &b, &c, &d, &x_separate_[0]}) buffer->poison_async(stream);
    }

private:
    unsigned n_, systems_;
    bool transposes_;
    std::vector<gpulab::DeviceBuffer<T>> given_;      // a, b, c, d as they came; none when they came interleaved
    std::vector<gpulab::DeviceBuffer<T>> x_separate_; // one, or none

public:
    gpulab::DeviceBuffer<T> a, b, c, d, x; ///< interleaved
};

/// See gpulab::poisoning().
template <class T> void poison(InterleavedProblem<T>& p, cudaStream_t stream) { p.poison_async(stream); }

} // namespace tridiagonal
