/// @file
/// The kernels of one GPU's part of a system. How data comes from other parts is not here but in devices/.
#pragma once

#include "sliced.cuh"
#include "state.hpp"
#include "steps.cuh"

namespace cg {

/// Where a kernel leaves its part's shares of the sums, and where it finds those of all parts. Here others bring them,
/// and they are in place before the kernel begins. Kernels that store into the memory of others have FlaggedSlots
/// (devices/flags.cuh), whose functions wait and send.
struct Slots {
    double* pq;       ///< the shares of p . q, one number per part
    double* residual; ///< the shares of r . r and r . z, two numbers per part
    unsigned parts, me;

    /// False ends the kernel: the solution has ended, or another part has not answered. Called by all threads.
    __device__ bool pq_is_here(State* s) const { return s->stop == go_on; }
    __device__ bool residual_is_here(State* s) const { return s->stop == go_on; }
    /// Leaves this part's shares. Called by all threads of the last block.
    __device__ void send_pq(double mine) const {
        if (threadIdx.x == 0) pq[me] = mine;
    }
    __device__ void send_residual(double rr, double rho) const {
        if (threadIdx.x == 0) residual[2 * me] = rr, residual[2 * me + 1] = rho;
    }
    /// Gives other parts the new p of row i; here others collect it.
    template <class T> __device__ void send_p(std::size_t /*i*/, T /*value*/) const {}
    /// Called by all threads of the last block, when all blocks have sent theirs.
    __device__ void all_p_is_sent() const {}
};

/// Collects what others need: out[k] = p[which[k]].
template <class T> __global__ void pack_kernel(const T* p, const int* which, T* out, std::size_t n) {
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < n;
         k += gridDim.x * std::size_t{block_threads})
        out[k] = p[which[k]];
}

/// q = A p for the inner rows, which follow row `begin`. @param partial one number per block
template <class T>
__global__ void __launch_bounds__(block_threads)
    inner_kernel(SlicedRows<T> a, std::size_t begin, Sweep inner, const T* p, T* q, double* partial, const State* s) {
    if (s->stop != go_on) return;
    T dot = 0;
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < inner.end();
         k += gridDim.x * std::size_t{block_threads}) {
        if (inner.row(k) >= inner.rows) continue;
        const std::size_t i = begin + inner.row(k);
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    }
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[blockIdx.x] = block_dot;
}

/// q = A p for the rows before `begin` and from `end` on, and p . q of all rows.
/// @param partial the sums of inner_kernel's blocks, and behind them room for one number per block of this kernel
template <class T, class Exchange>
__global__ void __launch_bounds__(block_threads)
    border_kernel(SlicedRows<T> a, std::size_t begin, std::size_t end, const T* p, T* q, double* partial,
                  unsigned inner_blocks, Exchange exchange, State* s) {
    if (s->stop != go_on) return;
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

/// q = A p: first the inner rows, which need no halo and follow row `begin`, then the others. A multiprocessor has as
/// many threads as it can have, so that many loads are under way.
/// @tparam Exchange FlaggedSlots @param partial one number per block
template <class T, class Exchange>
__global__ void __launch_bounds__(block_threads, full_blocks)
    product_with_halo_kernel(SlicedRows<T> a, std::size_t begin, Sweep inner, const T* p, T* q, double* partial,
                             Exchange exchange, State* s) {
    if (s->stop != go_on) return;
    const std::size_t border = a.rows - inner.rows, stride = gridDim.x * std::size_t{block_threads};
    std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x;
    T dot = 0;
    const auto multiply = [&](std::size_t i) {
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    };
    for (; k < inner.end(); k += stride)
        if (inner.row(k) < inner.rows) multiply(begin + inner.row(k));
    k -= inner.end(); // now it counts the border rows
    if (k < border) exchange.wait_for_halo(s);
    for (; k < border; k += stride) multiply(k < begin ? k : k + inner.rows);
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[blockIdx.x] = block_dot;
    if (!is_last_block(&s->tickets)) return;
    const double all = sum_of(partial, gridDim.x);
    exchange.send_pq(all);
}

/// alpha, and r -= alpha q; for the first residual r = b - q. @param partial two numbers per block
template <class T, class Exchange>
__global__ void __launch_bounds__(block_threads)
    part_residual_kernel(const T* q, const T* inverse, T* r, Sweep sweep, bool first, double* partial,
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
    const auto [rr, rho] = update_residual(static_cast<T>(alpha), q, inverse, r, sweep);
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
    if (!is_last_block(&s->tickets)) return;
    const double all_rr = sum_of(partial, gridDim.x, 2), all_rho = sum_of(partial + 1, gridDim.x, 2);
    if (threadIdx.x == 0) s->alpha = alpha; // the shares may change before part_next_kernel runs
    exchange.send_residual(all_rr, all_rho);
}

/// beta, x += alpha p, p = z + beta p; after the first residual only p = z.
template <class T, class Exchange>
__global__ void __launch_bounds__(block_threads)
    part_next_kernel(const T* r, const T* inverse, T* x, T* p, Sweep sweep, bool first, Exchange exchange, State* s,
                     double* history, Rules rules) {
    if (!exchange.residual_is_here(s)) return;
    double rr = 0, rho = 0;
    for (unsigned part = 0; part < exchange.parts; ++part)
        rr += __ldcg(&exchange.residual[2 * part]), rho += __ldcg(&exchange.residual[2 * part + 1]);
    const auto send = [&](std::size_t i, T value) { exchange.send_p(i, value); };
    if (first) {
        for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < sweep.rows;
             i += gridDim.x * std::size_t{block_threads}) {
            p[i] = inverse ? inverse[i] * r[i] : r[i];
            send(i, p[i]);
        }
    } else {
        const T beta = rules.steepest ? T(0) : static_cast<T>(rho / s->rho);
        update_x_and_p(static_cast<T>(s->alpha), beta, r, inverse, x, p, sweep, send);
    }
    __syncthreads(); // all warps have read the state, so that a ticket of this block says so
    if (!is_last_block(&s->tickets)) return;
    exchange.all_p_is_sent();
    if (threadIdx.x == 0) {
        s->rho = rho;
        note_residual(s, history, first ? 0 : s->iteration + 1, rr, rules);
        if (s->stop == stopping) s->stop = stopped; // x has its last step
    }
}

} // namespace cg
