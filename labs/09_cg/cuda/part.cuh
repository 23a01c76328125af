/// @file
/// One GPU's share of a system that several GPUs solve: its kernels, its vectors, and slots for the sums of all parts.
/// The programs differ in how the halo and the sums come from the other parts, so this is not here.
#pragma once

#include "gpu_parts.hpp"
#include "steps.cuh"

namespace cg {

/// Collects what others need: out[k] = p[which[k]].
template <class T> __global__ void pack_kernel(const T* p, const int* which, T* out, std::size_t n) {
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < n;
         k += gridDim.x * std::size_t{block_threads})
        out[k] = p[which[k]];
}

/// r = b - A p, where p holds x_0, and this part's shares of r . r and r . z.
/// @param partial two numbers per block @param mine two numbers: this part's slot
template <class T>
__global__ void __launch_bounds__(block_threads)
    first_residual_kernel(SlicedRows<T> a, const T* b, const T* p, const T* inverse, T* r, double* partial,
                          double* mine, State* s) {
    T rr = 0, rho = 0;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < a.rows;
         i += gridDim.x * std::size_t{block_threads}) {
        const T residual = b[i] - a.product(i, p);
        r[i] = residual;
        rr += residual * residual;
        rho += residual * (inverse ? inverse[i] * residual : residual);
    }
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
    if (!is_last_block(&s->tickets)) return;
    const double all_rr = sum_of(partial, gridDim.x, 2), all_rho = sum_of(partial + 1, gridDim.x, 2);
    if (threadIdx.x == 0) mine[0] = all_rr, mine[1] = all_rho;
}

/// q = A p for the inner rows. @param partial one number per block
template <class T>
__global__ void __launch_bounds__(block_threads) inner_kernel(SlicedRows<T> a, std::size_t begin, std::size_t end,
                                                              const T* p, T* q, double* partial, const State* s) {
    if (s->stop != go_on) return;
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

/// q = A p for the rows before `begin` and from `end` on, and this part's share of p . q.
/// @param partial the sums of inner_kernel's blocks, and behind them room for one number per block of this kernel
template <class T>
__global__ void __launch_bounds__(block_threads)
    border_kernel(SlicedRows<T> a, std::size_t begin, std::size_t end, const T* p, T* q, double* partial,
                  unsigned inner_blocks, double* mine, State* s) {
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
    if (threadIdx.x == 0) *mine = all;
}

/// alpha, r -= alpha q, and this part's shares of r . r and r . z.
/// @param pq_slots one number per part @param partial two numbers per block @param mine two numbers
template <class T>
__global__ void __launch_bounds__(block_threads)
    part_residual_kernel(const T* q, const T* inverse, T* r, std::size_t n, const double* pq_slots, unsigned parts,
                         double* partial, double* mine, State* s) {
    if (s->stop != go_on) return;
    double pq = 0;
    for (unsigned part = 0; part < parts; ++part) pq += __ldcg(&pq_slots[part]);
    if (!(pq > 0) || !isfinite(pq)) { // all blocks of all parts see that
        if (blockIdx.x == 0 && threadIdx.x == 0) note_product(s, pq);
        return;
    }
    const double exact_alpha = s->rho / pq;
    const auto [rr, rho] = update_residual(static_cast<T>(exact_alpha), q, inverse, r, n);
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
    if (!is_last_block(&s->tickets)) return;
    const double all_rr = sum_of(partial, gridDim.x, 2), all_rho = sum_of(partial + 1, gridDim.x, 2);
    if (threadIdx.x == 0) {
        s->alpha = exact_alpha; // the slots may change before next_kernel runs
        mine[0] = all_rr, mine[1] = all_rho;
    }
}

/// beta, x += alpha p, p = z + beta p; for the first residual only p = z.
/// @param slots two numbers per part
template <class T>
__global__ void __launch_bounds__(block_threads)
    part_next_kernel(const T* r, const T* inverse, T* x, T* p, std::size_t n, const double* slots, unsigned parts,
                     bool first, State* s, double* history, Rules rules) {
    if (s->stop != go_on) return;
    double rr = 0, rho = 0;
    for (unsigned part = 0; part < parts; ++part) rr += __ldcg(&slots[2 * part]), rho += __ldcg(&slots[2 * part + 1]);
    if (first) {
        for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
             i += gridDim.x * std::size_t{block_threads})
            p[i] = inverse ? inverse[i] * r[i] : r[i];
    } else {
        const T beta = rules.steepest ? T(0) : static_cast<T>(rho / s->rho);
        update_x_and_p(static_cast<T>(s->alpha), beta, r, inverse, x, p, n);
    }
    __syncthreads(); // all warps have read the state, so that a ticket of this block says so
    if (!is_last_block(&s->tickets)) return;
    if (threadIdx.x == 0) {
        s->rho = rho;
        note_residual(s, history, first ? 0 : s->iteration + 1, rr, rules);
        if (s->stop == stopping) s->stop = stopped; // x has its last step
    }
}

/// A part in the memory of the current device. Every part has a state of its own; all compute the same scalars, because
/// all add up the same slots in the same order.
template <class T> struct DevicePart {
    /// @param parts number of all parts
    /// @param rounds blocks of inner_kernel per block that can run at a time. With more than one round, a kernel of a
    ///        stream with high priority can start when a block ends
    DevicePart(const Problem<T>& problem, const Part<T>& own, std::size_t parts, unsigned rounds = 1)
        : part(own), rows(own.rows()), inner_rows(own.inner_end - own.inner_begin), jacobi(problem.jacobi()),
          matrix(own.matrix), b(piece(problem.b, own)), start(piece(problem.start, own)),
          inverse(jacobi ? piece(problem.inverse_diagonal, own) : std::vector<T>()), which(own.send), x(rows), r(rows),
          q(rows), p(own.p_size()), send(which.size()), pq_slots(parts), residual_slots(2 * parts),
          state(problem.limit), pack_blocks(std::min(gpulab::grid_size(which.size(), block_threads), 1024u)),
          inner_blocks(std::min(rounds * gpulab::resident_blocks(inner_kernel<T>, block_threads),
                                gpulab::grid_size(inner_rows, block_threads))),
          border_blocks(blocks_for(border_kernel<T>, rows - inner_rows)),
          all_blocks(std::min({blocks_for(first_residual_kernel<T>, rows), blocks_for(part_residual_kernel<T>, rows),
                               blocks_for(part_next_kernel<T>, rows)})),
          partial(std::max(inner_blocks + border_blocks, 2 * all_blocks)) {}

    /// 1 / a_ii, or null without Jacobi.
    const T* weights() const { return jacobi ? inverse.data() : nullptr; }

    /// Poisons all results, and puts the start into place: x = p = x_0, r = b. For p these are the part's own elements;
    /// the halo comes from others.
    void reset(cudaStream_t stream) {
        gpulab::poisoning(x, r, q, p, send, pq_slots, residual_slots, partial)(stream);
        state.poison(stream);
        const auto copy = [&](gpulab::DeviceBuffer<T>& to, const gpulab::DeviceBuffer<T>& from) {
            CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream));
        };
        copy(x, start), copy(p, start), copy(r, b);
    }
    /// Checks the guard bands of all results but x and the state. @throws gpulab::WrongResult as DeviceBuffer does
    void check_guard_bands() const {
        for (const gpulab::DeviceBuffer<T>* v : {&r, &q, &p, &send}) v->check_guard_bands();
        for (const gpulab::DeviceBuffer<double>* v : {&pq_slots, &residual_slots, &partial}) v->check_guard_bands();
    }

    const Part<T>& part;
    std::size_t rows, inner_rows;
    bool jacobi;
    DeviceSliced<T> matrix;
    gpulab::DeviceBuffer<T> b, start, inverse;
    gpulab::DeviceBuffer<int> which;
    gpulab::DeviceBuffer<T> x, r, q, p, send;
    gpulab::DeviceBuffer<double> pq_slots, residual_slots; ///< shares of the sums, of all parts
    DeviceState state;
    unsigned pack_blocks, inner_blocks, border_blocks, all_blocks;
    gpulab::DeviceBuffer<double> partial; ///< one or two numbers per block
};

} // namespace cg
