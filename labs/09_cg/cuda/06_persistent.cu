// CUDA rung 6: one kernel for the whole solution; x, r, p and q stay in registers.
//
// Changed: a single cooperative launch, in which all blocks run at the same time and can wait for each other
// (grid.sync()). Every thread has its rows for the whole solution and keeps their elements of x, r, p and q in
// registers. Only p is also in memory, because the product needs elements of other threads. The matrix is read again in
// every iteration, from the L2 cache if it fits there. All blocks wait for each other three times per iteration: when p
// is complete, and for each of the two sums. Every block adds up the partial sums of all blocks itself, in the same
// order: so all of them have the same alpha and beta to the last bit and end in the same iteration.
//
// Limit: the three waits. And the registers: the system must fit into them.
#include <cooperative_groups.h>
#include <string>

#include "device.hpp"
#include "sliced.cuh"
#include "state.hpp"

namespace cg {

/// A cooperative launch of any number of blocks.
/// @tparam R rows per thread: row i belongs to thread i % (all threads)
/// @param p holds x_0 at the beginning
/// @param partial three numbers per block: r . r, r . z, p . q
/// @param s becomes the state at the end @param start what does not change
template <class T, int R>
__global__ void __launch_bounds__(block_threads)
    persistent_kernel(SlicedRows<T> a, const T* b, const T* inverse, T* x_out, T* p, double* partial, State* s,
                      double* history, State start) {
    const auto grid = cooperative_groups::this_grid();
    const std::size_t first = blockIdx.x * std::size_t{block_threads} + threadIdx.x;
    const std::size_t stride = gridDim.x * std::size_t{block_threads};
    double* const partial_rho = partial + gridDim.x;
    double* const partial_pq = partial + 2 * gridDim.x;
    T x[R] = {}, r[R] = {}, direction[R] = {}, q[R] = {};

    T rr = 0, rho_share = 0;
    const auto z = [&](int k, std::size_t i) { return inverse ? inverse[i] * r[k] : r[k]; };
#pragma unroll
    for (int k = 0; k < R; ++k) {
        const std::size_t i = first + k * stride;
        if (i >= a.rows) continue;
        x[k] = p[i];
        r[k] = b[i] - a.product(i, p);
        rr += r[k] * r[k];
        rho_share += r[k] * z(k, i);
    }
    // The sums of r . r and r . z over the grid, in every thread.
    double all_rr = 0, all_rho = 0;
    const auto sum_residual = [&] {
        const double block_rr = block_sum(static_cast<double>(rr)),
                     block_rho = block_sum(static_cast<double>(rho_share));
        if (threadIdx.x == 0) {
            partial[blockIdx.x] = block_rr;
            partial_rho[blockIdx.x] = block_rho;
        }
        grid.sync();
        all_rr = sum_of(partial, gridDim.x);
        all_rho = sum_of(partial_rho, gridDim.x);
    };
    sum_residual(); // and nobody reads x_0 from p any more
    double rho = all_rho, pq = 0;
    unsigned long long iteration = 0;
    End end = End::none;
    const auto note = [&] { // the same in all threads
        const double norm = sqrt(all_rr);
        if (first == 0) history[iteration] = norm;
        end = !isfinite(norm)            ? End::not_finite
              : norm <= start.stop_at    ? End::converged
              : iteration >= start.limit ? End::limit
                                         : End::none;
    };
    note();
    double beta = 0;
    while (end == End::none) {
#pragma unroll
        for (int k = 0; k < R; ++k) {
            const std::size_t i = first + k * stride;
            if (i >= a.rows) continue;
            direction[k] = z(k, i) + static_cast<T>(beta) * direction[k];
            p[i] = direction[k];
        }
        grid.sync(); // p is complete
        T dot = 0;
#pragma unroll
        for (int k = 0; k < R; ++k) {
            const std::size_t i = first + k * stride;
            if (i >= a.rows) continue;
            q[k] = a.product(i, p);
            dot += direction[k] * q[k];
        }
        const double block_dot = block_sum(static_cast<double>(dot));
        if (threadIdx.x == 0) partial_pq[blockIdx.x] = block_dot;
        grid.sync(); // the shares of p . q are there, and nobody reads p any more
        pq = sum_of(partial_pq, gridDim.x);
        if (!(pq > 0) || !isfinite(pq) || (pq < smallest_normal && is_exhausted(history, iteration, start.epsilon))) {
            end = isfinite(pq) ? End::not_positive : End::not_finite;
            break;
        }
        const T alpha = static_cast<T>(rho / pq);
        rr = rho_share = 0;
#pragma unroll
        for (int k = 0; k < R; ++k) {
            const std::size_t i = first + k * stride;
            if (i >= a.rows) continue;
            x[k] += alpha * direction[k];
            r[k] -= alpha * q[k];
            rr += r[k] * r[k];
            rho_share += r[k] * z(k, i);
        }
        sum_residual();
        beta = start.steepest ? 0 : all_rho / rho;
        rho = all_rho;
        ++iteration;
        note();
    }
#pragma unroll
    for (int k = 0; k < R; ++k) {
        const std::size_t i = first + k * stride;
        if (i < a.rows) x_out[i] = x[k];
    }
    if (first == 0) {
        s->iteration = iteration;
        s->end = end;
        s->pq = pq;
    }
}

template <class T> void cuda_persistent(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    // As few rows per thread as possible: more threads hide more latency.
    using Kernel = void (*)(SlicedRows<T>, const T*, const T*, T*, T*, double*, State*, double*, State);
    const std::pair<int, Kernel> choices[] = {{1, persistent_kernel<T, 1>},
                                              {2, persistent_kernel<T, 2>},
                                              {4, persistent_kernel<T, 4>},
                                              {8, persistent_kernel<T, 8>}};
    Kernel kernel = nullptr;
    unsigned blocks = 0;
    std::size_t most = 0;
    for (const auto& [rows, candidate] : choices) {
        const unsigned resident = gpulab::resident_blocks(candidate, block_threads);
        const std::size_t room = std::size_t{resident} * block_threads * static_cast<std::size_t>(rows);
        most = std::max(most, room);
        watch.tile(room, "rows");
        if (kernel || problem.n() > room) continue;
        kernel = candidate;
        blocks = std::min(
            resident, gpulab::grid_size(gpulab::ceil_div(problem.n(), static_cast<std::size_t>(rows)), block_threads));
    }
    if (!kernel)
        throw gpulab::Unsupported(std::to_string(problem.n()) + " unknowns do not fit into its registers, which hold " +
                                  std::to_string(most));
    const DeviceSliced<T> matrix(problem.matrix);
    DeviceVectors<T> v(problem);
    const State start = start_state(problem);
    DeviceState state(start);
    gpulab::DeviceBuffer<double> partial(3 * std::size_t{blocks});
    const auto launch = [&](cudaStream_t stream) {
        state.clear(stream);
        SlicedRows<T> rows = matrix.view();
        const T *b = v.b.data(), *inverse = v.weights();
        T *x = v.x.data(), *p = v.p.data();
        double *sums = partial.data(), *history = state.history();
        State* s = state.data();
        State rules = start;
        void* arguments[] = {&rows, &b, &inverse, &x, &p, &sums, &s, &history, &rules};
        CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(block_threads),
                                               arguments, 0, stream));
    };
    const auto reset = [&](cudaStream_t stream) {
        v.reset(stream);
        gpulab::poisoning(partial)(stream);
        state.poison(stream);
    };
    gpulab::watch_stream(watch, launch, reset);
    v.solution(out.x);
    state.result(out);
    partial.check_guard_bands();
}

INSTANTIATE_RUNG(cuda_persistent);

} // namespace cg
