/// @file
/// The two vector updates of an iteration, for the threads of a grid: what all kernels of this lab do with their rows.
///
/// A thread takes every (threads of the grid)-th row, four of them at a time: it loads the elements of all four before
/// it computes. With one row at a time a GPU has too few bytes in flight to keep its memory busy, above all in float.
#pragma once

#include "sums.cuh"

namespace cg {

/// Rows whose loads a thread has under way together.
inline constexpr int rows_at_once = 4;

/// The order in which the threads of a grid take rows: tiles of one block's threads, from the first row to the last or
/// from the last to the first. Within a tile the rows ascend, so that the threads of a warp read what lies side by
/// side.
struct Sweep {
    std::size_t rows;
    bool backward = false;

    /// Threads that take all rows, in whole tiles.
    __device__ std::size_t end() const { return (rows + block_threads - 1) / block_threads * block_threads; }
    /// The row of thread i < end() of the grid, where i % block_threads is threadIdx.x.
    /// @return `rows` or more for a thread of the last tile that has no row
    __device__ std::size_t row(std::size_t i) const {
        return backward ? end() - block_threads - i + 2 * threadIdx.x : i; // tile t becomes tile (last - t)
    }
};

/// A thread's shares of r . r and r . z.
template <class T> struct ResidualShares { T rr, rho; };

/// r -= alpha q.
/// @param inverse 1 / a_ii, or null without Jacobi
template <class T>
__device__ ResidualShares<T> update_residual(T alpha, const T* q, const T* inverse, T* r, Sweep sweep) {
    const std::size_t n = sweep.rows, stride = gridDim.x * std::size_t{block_threads};
    T rr = 0, rho = 0;
    for (std::size_t first = blockIdx.x * std::size_t{block_threads} + threadIdx.x; first < sweep.end();
         first += rows_at_once * stride) {
        T residual[rows_at_once], product[rows_at_once], weight[rows_at_once];
#pragma unroll
        for (int k = 0; k < rows_at_once; ++k) {
            const std::size_t i = sweep.row(first + k * stride);
            if (i < n) residual[k] = r[i], product[k] = q[i], weight[k] = inverse ? inverse[i] : T(1);
        }
#pragma unroll
        for (int k = 0; k < rows_at_once; ++k) {
            const std::size_t i = sweep.row(first + k * stride);
            if (i >= n) continue;
            residual[k] -= alpha * product[k];
            r[i] = residual[k];
            rr += residual[k] * residual[k];
            rho += residual[k] * (weight[k] * residual[k]);
        }
    }
    return {rr, rho};
}

/// x += alpha p, p = z + beta p: one pass, because both read p.
/// @param done `done(i, p_i)` is called for every row with its new p
template <class T, class Done>
__device__ void update_x_and_p(T alpha, T beta, const T* r, const T* inverse, T* x, T* p, Sweep sweep,
                               const Done& done) {
    const std::size_t n = sweep.rows, stride = gridDim.x * std::size_t{block_threads};
    for (std::size_t first = blockIdx.x * std::size_t{block_threads} + threadIdx.x; first < sweep.end();
         first += rows_at_once * stride) {
        T direction[rows_at_once], z[rows_at_once], solution[rows_at_once];
#pragma unroll
        for (int k = 0; k < rows_at_once; ++k) {
            const std::size_t i = sweep.row(first + k * stride);
            if (i < n) direction[k] = p[i], z[k] = inverse ? inverse[i] * r[i] : r[i], solution[k] = x[i];
        }
#pragma unroll
        for (int k = 0; k < rows_at_once; ++k) {
            const std::size_t i = sweep.row(first + k * stride);
            if (i >= n) continue;
            x[i] = solution[k] + alpha * direction[k];
            p[i] = z[k] + beta * direction[k];
            done(i, p[i]);
        }
    }
}

} // namespace cg
