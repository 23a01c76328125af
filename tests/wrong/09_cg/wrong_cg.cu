// The fused kernels of rung 2 with one mistake each.
#include <array>

#include "cuda/fused.cuh"
#include "wrong_cg.hpp"

namespace cg::wrong {

namespace {

enum class Mistake {
    none,
    last_step_lost,    ///< x is not updated in the iteration that ends
    after_the_end,     ///< iterations that are launched after the end go on with p and x
    beta_is_one,       ///< the new r.z is stored before beta is computed
    ticket_not_reset,  ///< the counter of blocks is not zeroed
    first_partial_lost ///< the sum leaves out block 0
};

template <Mistake m>
__global__ void __launch_bounds__(block_threads)
    residual_kernel(const double* q, const double* inverse, double* r, std::size_t n, double* partial, State* s,
                    double* history, Rules rules) {
    if (s->stop != go_on) return;
    const double alpha = s->alpha;
    double rr = 0, rho = 0;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{block_threads}) {
        r[i] -= alpha * q[i];
        rr += r[i] * r[i];
        rho += r[i] * (inverse ? inverse[i] * r[i] : r[i]);
    }
    rr = block_sum(rr), rho = block_sum(rho);
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = rr, partial[2 * blockIdx.x + 1] = rho;
    if (!is_last_block(&s->tickets)) return;
    const unsigned skip = m == Mistake::first_partial_lost ? 1 : 0;
    const double all_rr = sum_of(partial + 2 * skip, gridDim.x - skip, 2);
    const double all_rho = sum_of(partial + 1 + 2 * skip, gridDim.x - skip, 2);
    if (threadIdx.x != 0) return;
    if (m == Mistake::ticket_not_reset) s->tickets = 1;
    if (m == Mistake::beta_is_one) s->rho = all_rho;
    s->beta = rules.steepest ? 0 : all_rho / s->rho;
    s->rho = all_rho;
    note_residual(s, history, s->iteration + 1, all_rr, rules);
}

template <Mistake m>
__global__ void __launch_bounds__(block_threads)
    next_kernel(const double* r, const double* inverse, double* x, double* p, std::size_t n, const State* s) {
    if (m == Mistake::last_step_lost && s->stop != go_on) return;
    if (m != Mistake::after_the_end && s->stop == stopped) return;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{block_threads}) {
        x[i] += s->alpha * p[i];
        p[i] = (inverse ? inverse[i] * r[i] : r[i]) + s->beta * p[i];
    }
}

template <Mistake m> void solve(const Problem<double>& problem, Output<double>& out, Stopwatch& watch) {
    const DeviceCsr<double> matrix(problem.matrix);
    DeviceVectors<double> v(problem);
    DeviceState state(problem.limit);
    const Rules rules = rules_of(problem);
    const unsigned blocks = gpulab::grid_size(v.n, block_threads);
    gpulab::DeviceBuffer<double> partial(2 * std::size_t{blocks});
    watch.tile(block_threads, "rows");
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            state.clear(stream);
            begin_kernel<double><<<blocks, block_threads, 0, stream>>>(
                matrix.view(), v.b.data(), v.start.data(), v.weights(), v.r.data(), v.p.data(), partial.data(),
                state.data(), state.history(), rules);
            state.until_stopped(stream, problem.limit, [&](std::size_t left) {
                const std::size_t count = std::min<std::size_t>(left, 16);
                for (std::size_t k = 0; k < count; ++k) {
                    product_kernel<double><<<blocks, block_threads, 0, stream>>>(matrix.view(), v.p.data(), v.q.data(),
                                                                                 partial.data(), state.data());
                    residual_kernel<m><<<blocks, block_threads, 0, stream>>>(
                        v.q.data(), v.weights(), v.r.data(), v.n, partial.data(), state.data(), state.history(), rules);
                    next_kernel<m><<<blocks, block_threads, 0, stream>>>(v.r.data(), v.weights(), v.x.data(),
                                                                         v.p.data(), v.n, state.data());
                }
                return count;
            });
        },
        [&](cudaStream_t stream) {
            v.reset(stream);
            gpulab::poisoning(partial)(stream);
            state.poison(stream);
        });
    v.solution(out.x);
    state.result(out);
}

} // namespace

void cuda_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    solve<Mistake::none>(p, out, watch);
}

std::span<const WrongVariant> cuda_variants() {
    static const std::array table = {
        WrongVariant{"last_step_lost", "x lacks its last step", solve<Mistake::last_step_lost>},
        WrongVariant{"after_the_end", "x moves on after the end", solve<Mistake::after_the_end>},
        WrongVariant{"beta_is_one", "r.z is overwritten before beta is computed", solve<Mistake::beta_is_one>},
        WrongVariant{"ticket_not_reset", "the counter of blocks is not zeroed", solve<Mistake::ticket_not_reset>},
        WrongVariant{"first_partial_lost", "the sum leaves out block 0", solve<Mistake::first_partial_lost>},
    };
    return table;
}

} // namespace cg::wrong
