/// @file
/// Three kernels per iteration with the scalars on the device: what rungs 2 to 5 launch. All their kernels go through
/// the rows forward but those of rung 5, which says why.
#pragma once

#include "device.hpp"
#include "state.hpp"
#include "steps.cuh"

namespace cg {

/// Before the first iteration: r = b - A x_0, p = z, and the scalars. @param partial two numbers per block
template <class T, class Rows>
__global__ void __launch_bounds__(block_threads)
    begin_kernel(Rows a, const T* b, const T* start, const T* inverse, T* r, T* p, double* partial, State* s,
                 double* history, Rules rules) {
    T rr = 0, rho = 0;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < a.rows;
         i += gridDim.x * std::size_t{block_threads}) {
        const T residual = b[i] - a.product(i, start);
        const T z = inverse ? inverse[i] * residual : residual;
        r[i] = residual;
        p[i] = z;
        rr += residual * residual;
        rho += residual * z;
    }
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
    if (!is_last_block(&s->tickets)) return;
    const double all_rr = sum_of(partial, gridDim.x, 2), all_rho = sum_of(partial + 1, gridDim.x, 2);
    if (threadIdx.x == 0) {
        s->rho = all_rho;
        note_residual(s, history, 0, all_rr, rules);
    }
}

/// q = A p, and alpha from p . q. @param partial one number per block
template <class T, class Rows>
__global__ void __launch_bounds__(block_threads)
    product_kernel(Rows a, Sweep sweep, const T* p, T* q, double* partial, State* s) {
    if (s->stop != go_on) {
        // The last next_kernel of this solution has run: those that are still launched must do nothing.
        if (blockIdx.x == 0 && threadIdx.x == 0) atomicExch(&s->stop, stopped);
        return;
    }
    T dot = 0;
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < sweep.end();
         k += gridDim.x * std::size_t{block_threads}) {
        const std::size_t i = sweep.row(k);
        if (i >= a.rows) continue;
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    }
    const double block_dot = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[blockIdx.x] = block_dot;
    if (!is_last_block(&s->tickets)) return;
    const double pq = sum_of(partial, gridDim.x);
    if (threadIdx.x == 0) note_product(s, pq);
}

/// r -= alpha q, and beta from r . z. @param partial two numbers per block
template <class T>
__global__ void __launch_bounds__(block_threads)
    residual_kernel(const T* q, const T* inverse, T* r, Sweep sweep, double* partial, State* s, double* history,
                    Rules rules) {
    if (s->stop != go_on) return;
    const auto [rr, rho] = update_residual(static_cast<T>(s->alpha), q, inverse, r, sweep);
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
    if (!is_last_block(&s->tickets)) return;
    const double all_rr = sum_of(partial, gridDim.x, 2), all_rho = sum_of(partial + 1, gridDim.x, 2);
    if (threadIdx.x == 0) {
        s->beta = rules.steepest ? 0 : all_rho / s->rho;
        s->rho = all_rho;
        note_residual(s, history, s->iteration + 1, all_rr, rules);
    }
}

/// x += alpha p, p = z + beta p: one pass, because both read p.
template <class T>
__global__ void __launch_bounds__(block_threads)
    next_kernel(const T* r, const T* inverse, T* x, T* p, Sweep sweep, const State* s) {
    if (s->stop == stopped) return; // `stopping`: x still lacks the step of the last iteration
    update_x_and_p(static_cast<T>(s->alpha), static_cast<T>(s->beta), r, inverse, x, p, sweep, [](std::size_t, T) {});
}

/// A system on the device, and its three kernels.
template <class T, class Matrix> class Fused {
public:
    using Rows = decltype(std::declval<Matrix>().view());

    /// @param back_and_forth every kernel goes through the rows in the direction opposite to the kernel before
    explicit Fused(const Problem<T>& problem, bool back_and_forth = false)
        : matrix_(problem.matrix), v_(problem), rules_(rules_of(problem)), limit_(problem.limit),
          blocks_(std::min(blocks_for(product_kernel<T, Rows>, v_.n), blocks_for(begin_kernel<T, Rows>, v_.n))),
          update_blocks_(std::min(blocks_for(residual_kernel<T>, v_.n), blocks_for(next_kernel<T>, v_.n))),
          partial_(2 * std::max(blocks_, update_blocks_)), state_(problem.limit), back_and_forth_(back_and_forth) {}

    /// Puts the beginning into a stream: the state of the device and the first residual.
    void begin(cudaStream_t stream) {
        state_.clear(stream);
        begin_kernel<T><<<blocks_, block_threads, 0, stream>>>(matrix_.view(), v_.b.data(), v_.start.data(),
                                                               v_.weights(), v_.r.data(), v_.p.data(), partial_.data(),
                                                               state_.data(), state_.history(), rules_);
    }
    /// Puts one iteration into a stream: the eight steps of the method in three kernels.
    void iterate(cudaStream_t stream) {
        // 1, 2, 3: q = A p, p . q, alpha
        product_kernel<T><<<blocks_, block_threads, 0, stream>>>(matrix_.view(), next_sweep(), v_.p.data(), v_.q.data(),
                                                                 partial_.data(), state_.data());
        // 5, 6, 7: r -= alpha q, its sums, beta
        residual_kernel<<<update_blocks_, block_threads, 0, stream>>>(v_.q.data(), v_.weights(), v_.r.data(),
                                                                      next_sweep(), partial_.data(), state_.data(),
                                                                      state_.history(), rules_);
        // 4, 8: x += alpha p, p = z + beta p
        next_kernel<<<update_blocks_, block_threads, 0, stream>>>(v_.r.data(), v_.weights(), v_.x.data(), v_.p.data(),
                                                                  next_sweep(), state_.data());
    }
    void reset(cudaStream_t stream) {
        v_.reset(stream);
        gpulab::poisoning(partial_)(stream);
        state_.poison(stream);
    }
    /// Copies out the solution, the history and the end.
    void result(Output<T>& out) {
        v_.solution(out.x);
        state_.result(out);
        partial_.check_guard_bands();
    }
    DeviceState& state() { return state_; }
    std::size_t limit() const { return limit_; }

private:
    /// That of the next kernel.
    Sweep next_sweep() {
        backward_ = back_and_forth_ && !backward_;
        return {v_.n, backward_};
    }

    Matrix matrix_;
    DeviceVectors<T> v_;
    Rules rules_;
    std::size_t limit_;
    unsigned blocks_, update_blocks_;
    gpulab::DeviceBuffer<double> partial_;
    DeviceState state_;
    bool back_and_forth_, backward_ = false;
};

} // namespace cg
