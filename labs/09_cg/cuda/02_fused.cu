// CUDA rung 2: three kernels, and the scalars stay on the device.
//
// Changed: kernels that use the same vectors become one: five kernels become three, each with what it has just read or
// computed in registers. Ten of the fourteen passes over vectors remain. Also, alpha and beta never leave the device:
// the block that ends last adds up the partial sums (lab 02) and writes them where the next kernel finds them. So the
// host need not wait: it launches 16 iterations at a time, and sees in a copy of the state whether the device has
// finished. Iterations that are launched after the end return at once. The numbers are those of the method's steps, in
// the README:
//
//     product_kernel    1, 2, 3: q = A p, p . q, alpha         reads p             writes q
//     residual_kernel   5, 6, 7: r -= alpha q, sums, beta      reads q, r          writes r
//     next_kernel       4, 8: x += alpha p, p = z + beta p     reads x, p, r       writes x, p
//
// A kernel ends when all its blocks have ended, and only then does the next one in the stream begin. So a kernel finds
// complete what the one before has written: vectors, and the scalars in State. `inverse` is 1 / a_ii (Jacobi), or
// null. A sum over the grid is a number per block in `partial`, which the block that ends last adds up (sums.cuh).
//
// Limit: memory, where the loads of CSR with a thread per row are a row apart; for small systems the launches.
#include "csr.cuh"
#include "device.hpp"
#include "state.hpp"
#include "steps.cuh"

namespace cg {

/// Before the first iteration: r = b - A x_0, p = z, and the scalars. @param partial two numbers per block
template <class T, class Rows>
__global__ void __launch_bounds__(block_threads)
    begin_kernel(Rows a, Vectors<T> v, double* partial, State* s, double* history) {
    T rr = 0, rho = 0;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < a.rows;
         i += gridDim.x * std::size_t{block_threads}) {
        const T residual = v.b[i] - a.product(i, v.start);
        const T z = v.inverse ? v.inverse[i] * residual : residual;
        v.r[i] = residual;
        v.p[i] = z;
        rr += residual * residual;
        rho += residual * z;
    }
    double all_rr = static_cast<double>(rr), all_rho = static_cast<double>(rho);
    if (!two_grid_sums(all_rr, all_rho, partial, &s->tickets)) return;
    if (threadIdx.x == 0) {
        s->rho = all_rho;
        note_residual(s, history, 0, all_rr);
    }
}

/// q = A p, and alpha from p . q. @param partial one number per block
template <class T, class Rows>
__global__ void __launch_bounds__(block_threads) product_kernel(Rows a, const T* p, T* q, double* partial, State* s) {
    if (s->end != End::none) {
        // x has its last step, from the next_kernel before this one: those that are still launched must do nothing.
        if (blockIdx.x == 0 && threadIdx.x == 0) s->stop = true;
        return;
    }
    T dot = 0;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < a.rows;
         i += gridDim.x * std::size_t{block_threads}) {
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
    residual_kernel(const T* q, const T* inverse, T* r, std::size_t n, double* partial, State* s, double* history) {
    if (s->end != End::none) return;
    T rr, rho;
    update_residual(static_cast<T>(s->alpha), q, inverse, r, n, rr, rho);
    double all_rr = static_cast<double>(rr), all_rho = static_cast<double>(rho);
    if (!two_grid_sums(all_rr, all_rho, partial, &s->tickets)) return;
    if (threadIdx.x == 0) {
        s->beta = s->steepest ? 0 : all_rho / s->rho;
        s->rho = all_rho;
        note_residual(s, history, s->iteration + 1, all_rr);
    }
}

/// x += alpha p, p = z + beta p: one pass, because both read p.
template <class T>
__global__ void __launch_bounds__(block_threads)
    next_kernel(const T* r, const T* inverse, T* x, T* p, std::size_t n, const State* s) {
    if (s->stop) return; // not when s->end is set: x still lacks the step of the last iteration
    update_x_and_p(static_cast<T>(s->alpha), static_cast<T>(s->beta), r, inverse, x, p, n, [](std::size_t, T) {});
}

/// A system on the device, and its three kernels.
template <class T, class Matrix> class Fused {
public:
    using Rows = decltype(std::declval<Matrix>().view());

    explicit Fused(const Problem<T>& problem)
        : matrix_(problem.matrix), v_(problem),
          blocks_(std::min(blocks_for(product_kernel<T, Rows>, v_.n), blocks_for(begin_kernel<T, Rows>, v_.n))),
          update_blocks_(std::min(blocks_for(residual_kernel<T>, v_.n), blocks_for(next_kernel<T>, v_.n))),
          partial_(2 * std::max(blocks_, update_blocks_)), state_(start_state(problem)) {}

    /// Puts one iteration into a stream: the eight steps of the method in three kernels.
    void iterate(cudaStream_t stream) {
        product_kernel<T><<<blocks_, block_threads, 0, stream>>>(matrix_.view(), v_.p.data(), v_.q.data(),
                                                                 partial_.data(), state_.data());
        residual_kernel<<<update_blocks_, block_threads, 0, stream>>>(v_.q.data(), v_.weights(), v_.r.data(), v_.n,
                                                                      partial_.data(), state_.data(), state_.history());
        next_kernel<<<update_blocks_, block_threads, 0, stream>>>(v_.r.data(), v_.weights(), v_.x.data(), v_.p.data(),
                                                                  v_.n, state_.data());
    }
    /// Puts 16 iterations into a stream, or `left` if that is fewer. @return how many
    std::size_t launch(cudaStream_t stream, std::size_t left) {
        const std::size_t count = std::min<std::size_t>(left, 16);
        for (std::size_t k = 0; k < count; ++k) iterate(stream);
        return count;
    }
    /// Times solutions, and copies the last one out: x, the history and the end.
    /// @param launch `launch(stream, left)`: see DeviceState::until_stopped()
    template <class Launch> void solve(Output<T>& out, Stopwatch& watch, const Launch& launch) {
        gpulab::watch_stream(
            watch,
            [&](cudaStream_t stream) {
                state_.clear(stream);
                begin_kernel<<<blocks_, block_threads, 0, stream>>>(matrix_.view(), v_.view(), partial_.data(),
                                                                    state_.data(), state_.history());
                state_.until_stopped(stream, [&](std::size_t left) { return launch(stream, left); });
            },
            [&](cudaStream_t stream) {
                v_.reset(stream);
                gpulab::poisoning(partial_)(stream);
                state_.poison(stream);
            });
        v_.solution(out.x);
        state_.result(out);
        partial_.check_guard_bands();
    }

private:
    Matrix matrix_;
    DeviceVectors<T> v_;
    unsigned blocks_, update_blocks_;
    gpulab::DeviceBuffer<double> partial_;
    DeviceState state_;
};

template <class T> void cuda_fused(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    Fused<T, DeviceCsr<T>> system(problem);
    system.solve(out, watch, [&](cudaStream_t stream, std::size_t left) { return system.launch(stream, left); });
}

#if !defined(CG_FUSED_INCLUDED) // rungs 3 and 4 include this file for its kernels
INSTANTIATE_RUNG(cuda_fused);
#endif

} // namespace cg
