/// @file
/// The kernels of one GPU's part of a system. How data comes from other parts is not here but in devices/.
///
/// What a kernel needs of other parts, and what it has for them, goes through an *exchange*, the device's half of a
/// transport: Slots (devices/slots.cuh), where copies bring the data before the kernel begins, or FlaggedSlots
/// (devices/flags.cuh), where kernels store it in the memory of other GPUs, and wait for it. Its members:
///
///     parts, me                        how many parts there are, and the number of this one
///     pq[part], residual[2 part ...]   the shares of p . q, and of r . r and r . z
///     pq_is_here(), residual_is_here() whether the kernel goes on: the shares of all parts have come, and the solution
///                                      has not ended; called by all threads
///     send_pq(), send_residual()       leave this part's shares; called by all threads of the last block
///     send_p(i, p_i)                   called for every row with its new p, which may be in the halo of another part
///     all_p_is_sent()                  called by all threads of the last block, when all blocks have sent theirs
///     wait_for_halo()                  only in FlaggedSlots
#pragma once

#include "device.hpp"
#include "sliced.cuh"
#include "state.hpp"
#include "steps.cuh"

namespace cg {

/// Collects what others need: out[k] = p[which[k]].
template <class T> __global__ void pack_kernel(const T* p, const int* which, T* out, std::size_t n) {
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < n;
         k += gridDim.x * std::size_t{block_threads})
        out[k] = p[which[k]];
}

/// Rows begin ... end - 1.
struct RowRange {
    std::size_t begin, end;
};

/// q = A p for the inner rows. @param partial one number per block
template <class T>
__global__ void __launch_bounds__(block_threads)
    inner_kernel(SlicedRows<T> a, RowRange inner_rows, const T* p, T* q, double* partial, const State* s) {
    if (s->stop) return;
    const auto [begin, end] = inner_rows;
    T dot = 0;
    for (std::size_t i = begin + blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < end;
         i += gridDim.x * std::size_t{block_threads}) {
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    }
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[blockIdx.x] = block_dot;
}

/// q = A p for the rows before the inner ones and behind them, and p . q of all rows.
/// @param partial the sums of inner_kernel's blocks, and behind them room for one number per block of this kernel
template <class T, class Exchange>
__global__ void __launch_bounds__(block_threads)
    border_kernel(SlicedRows<T> a, RowRange inner_rows, const T* p, T* q, double* partial, unsigned inner_blocks,
                  Exchange exchange, State* s) {
    if (s->stop) return;
    const auto [begin, end] = inner_rows;
    const std::size_t rows = begin + (a.rows - end);
    T dot = 0;
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < rows;
         k += gridDim.x * std::size_t{block_threads}) {
        const std::size_t i = k < begin ? k : k - begin + end;
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    }
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[inner_blocks + blockIdx.x] = block_dot;
    if (!is_last_block(&s->tickets)) return;
    const double all = sum_of(partial, inner_blocks + gridDim.x);
    exchange.send_pq(all);
}

#if __CUDA_ARCH__ == 750
constexpr int full_blocks = 1024 / block_threads; // blocks that fill a multiprocessor with threads
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
constexpr int full_blocks = 1536 / block_threads;
#else
constexpr int full_blocks = 2048 / block_threads;
#endif

/// q = A p: first the inner rows, which need no halo, then the others. A multiprocessor has as many
/// threads as it can have, so that many loads are under way.
/// @tparam Exchange FlaggedSlots @param partial one number per block
template <class T, class Exchange>
__global__ void __launch_bounds__(block_threads, full_blocks)
    product_with_halo_kernel(SlicedRows<T> a, RowRange inner_rows, const T* p, T* q, double* partial, Exchange exchange,
                             State* s) {
    if (s->stop) return;
    const auto [begin, end] = inner_rows;
    const std::size_t stride = gridDim.x * std::size_t{block_threads};
    std::size_t i = begin + blockIdx.x * std::size_t{block_threads} + threadIdx.x;
    T dot = 0;
    const auto multiply = [&](std::size_t row) {
        const T product = a.product(row, p);
        q[row] = product;
        dot += p[row] * product;
    };
    for (; i < end; i += stride) multiply(i);
    const std::size_t border = begin + (a.rows - end);
    std::size_t k = i - end;
    if (k < border) exchange.wait_for_halo(s);
    for (; k < border; k += stride) multiply(k < begin ? k : k - begin + end);
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[blockIdx.x] = block_dot;
    if (!is_last_block(&s->tickets)) return;
    const double all = sum_of(partial, gridDim.x);
    exchange.send_pq(all);
}

/// alpha, and r -= alpha q; for the first residual r = b - q. @param partial two numbers per block
template <class T, class Exchange>
__global__ void __launch_bounds__(block_threads)
    part_residual_kernel(const T* q, const T* inverse, T* r, std::size_t n, bool first, double* partial,
                         Exchange exchange, State* s) {
    if (!exchange.pq_is_here(s)) return;
    double alpha = 1;
    if (!first) { // the first residual needs no share of p . q: alpha is 1
        double pq = 0;
        for (unsigned part = 0; part < exchange.parts; ++part) pq += __ldcg(&exchange.pq[part]);
        if (!has_curvature(pq, s)) { // all blocks of all parts see that
            if (blockIdx.x == 0 && threadIdx.x == 0) note_product(s, pq);
            return;
        }
        alpha = s->rho / pq;
    }
    T rr, rho;
    update_residual(static_cast<T>(alpha), q, inverse, r, n, rr, rho);
    double all_rr = static_cast<double>(rr), all_rho = static_cast<double>(rho);
    if (!two_grid_sums(all_rr, all_rho, partial, &s->tickets)) return;
    if (threadIdx.x == 0) s->alpha = alpha; // the shares may change before part_next_kernel runs
    exchange.send_residual(all_rr, all_rho);
}

/// beta, x += alpha p, p = z + beta p; after the first residual only p = z.
template <class T, class Exchange>
__global__ void __launch_bounds__(block_threads)
    part_next_kernel(Vectors<T> v, std::size_t n, bool first, Exchange exchange, State* s, double* history) {
    if (!exchange.residual_is_here(s)) return;
    double rr = 0, rho = 0;
    for (unsigned part = 0; part < exchange.parts; ++part) {
        rr += __ldcg(&exchange.residual[2 * part]);
        rho += __ldcg(&exchange.residual[2 * part + 1]);
    }
    const auto send = [&](std::size_t i, T value) { exchange.send_p(i, value); };
    if (first) {
        for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
             i += gridDim.x * std::size_t{block_threads}) {
            v.p[i] = v.inverse ? v.inverse[i] * v.r[i] : v.r[i];
            send(i, v.p[i]);
        }
    } else {
        const T beta = s->steepest ? T(0) : static_cast<T>(rho / s->rho);
        update_x_and_p(static_cast<T>(s->alpha), beta, v.r, v.inverse, v.x, v.p, n, send);
    }
    __syncthreads(); // all warps have read the state, so that a ticket of this block says so
    if (!is_last_block(&s->tickets)) return;
    exchange.all_p_is_sent();
    if (threadIdx.x == 0) {
        s->rho = rho;
        note_residual(s, history, first ? 0 : s->iteration + 1, rr);
        if (s->end != End::none) s->stop = true; // x has its last step
    }
}

} // namespace cg
