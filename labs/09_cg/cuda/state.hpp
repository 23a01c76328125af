/// @file
/// The scalars of the iteration on the device, and the host's view of them.
#pragma once

#include <limits>
#include <vector>

#include "cg.hpp"
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/stream.hpp"
#include "gpulab/error.hpp"

namespace cg {

/// The scalars on the device. The host launches iterations without knowing which is the last. So the device ends in two
/// steps: `end` says why, and when x has its last step too, `stop` makes the kernels return at once. In rungs 2 to 5:
///
///     kernels    product  residual  next      product  residual  next      product ...
///     they       work     work      work      return   return    return    return
///                         ^ end: converged    ^ stop
struct State {
    double rho = 0, alpha = 0, beta = 0; ///< rho is r . z
    double pq = 0;                       ///< p . q, of the last iteration
    double min_pq = 0;                   ///< with which the iteration goes on: see note_residual()
    unsigned long long iteration = 0;
    End end = End::none;
    bool stop = false;
    unsigned tickets = 0; ///< of is_last_block()
    // What does not change:
    double stop_at = 0;
    unsigned long long limit = 0;
    double epsilon = 0;    ///< of the type of the numbers
    bool steepest = false; ///< beta is 0
};
/// Before the first iteration.
template <class T> State start_state(const Problem<T>& p) {
    return {
        .stop_at = p.stop_at, .limit = p.limit, .epsilon = std::numeric_limits<T>::epsilon(), .steepest = p.steepest};
}

#if defined(__CUDACC__)
/// Below it a number has lost digits.
constexpr double smallest_normal = std::numeric_limits<double>::min();

/// Whether the residual of iteration k is nothing but rounding. end_without_curvature() decides in the same way.
__device__ inline bool is_exhausted(const double* history, unsigned long long k, double epsilon) {
    return __ldcg(&history[k]) <= epsilon * __ldcg(&history[0]);
}

/// Whether the iteration can go on with this p . q. end_by_curvature() decides in the same way.
__device__ inline bool has_curvature(double pq, const State* s) { return pq > 0 && pq >= s->min_pq && isfinite(pq); }

/// Takes p . q of this iteration. Called by one thread.
__device__ inline void note_product(State* s, double pq) {
    s->pq = pq;
    if (has_curvature(pq, s)) {
        s->alpha = s->rho / pq;
    } else {
        s->stop = true; // without a step of x
        s->end = isfinite(pq) ? End::not_positive : End::not_finite;
    }
}

/// Takes r . r after iteration k. Called by one thread.
__device__ inline void note_residual(State* s, double* history, unsigned long long k, double rr) {
    // All loads before the first store: they travel together.
    const double norm = sqrt(rr), epsilon = s->epsilon, stop_at = s->stop_at;
    const unsigned long long limit = s->limit;
    history[k] = norm;
    s->iteration = k;
    s->min_pq = is_exhausted(history, k, epsilon) ? smallest_normal : 0;
    s->end = !isfinite(norm) ? End::not_finite : norm <= stop_at ? End::converged : k >= limit ? End::limit : End::none;
    if (k == 0 && s->end != End::none) s->stop = true; // x_0 needs no step
}
#endif

/// The state and the history in device memory.
class DeviceState {
public:
    explicit DeviceState(const State& start)
        : start_(std::vector<State>{start}), limit_(start.limit), state_(1), history_(limit_ + 1), seen_(2) {}

    State* data() { return state_.data(); }
    double* history() { return history_.data(); }

    /// Puts the state into place that is before the first iteration.
    void clear(cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(state_.data(), start_.data(), sizeof(State), cudaMemcpyDeviceToDevice, stream));
    }
    void poison(cudaStream_t stream) {
        state_.poison_async(stream);
        history_.poison_async(stream);
    }

    /// Launches iterations until the device has ended. The host looks at a copy of the state that is one launch old, so
    /// that the device never waits for it; what is launched after the end does nothing.
    ///
    ///     stream    launch 0 | copy to seen_[0] | launch 1 | copy to seen_[1] | launch 2 | copy to seen_[0] | ...
    ///     host      puts in launches 0 and 1, waits for the first copy, puts in launch 2, waits for the second, ...
    ///
    /// @param launch `launch(left)` puts iterations into the stream and returns how many. It may put in more than
    ///        `left`: the device stops at the limit
    /// @param wait `wait(event)` returns when the event has been reached, or throws
    template <class Launch, class Wait = void (*)(const gpulab::Event&)>
    void until_stopped(
        cudaStream_t stream, const Launch& launch,
        const Wait& wait = [](const gpulab::Event& event) { event.synchronize(); }) {
        std::size_t launched = 0;
        for (std::size_t slot = 0; launched < limit_; slot = 1 - slot) {
            const bool first = launched == 0;
            launched += launch(limit_ - launched);
            CUDA_CHECK(cudaMemcpyAsync(&seen_[slot], state_.data(), sizeof(State), cudaMemcpyDeviceToHost, stream));
            arrived_[slot].record(stream);
            if (first) continue;
            wait(arrived_[1 - slot]);
            if (seen_[1 - slot].end != End::none) break;
        }
    }
    /// Copies the history and the end out. @pre the streams that use it are empty
    template <class T> void result(Output<T>& out) const {
        State s{};
        CUDA_CHECK(cudaMemcpy(&s, state_.data(), sizeof s, cudaMemcpyDeviceToHost));
        if (s.end == End::lost) throw gpulab::WrongResult("a GPU has waited in vain for another");
        if (s.iteration >= history_.size())
            throw gpulab::WrongResult("the device counts more iterations than the limit");
        out.history.resize(s.iteration + 1);
        CUDA_CHECK(cudaMemcpy(out.history.data(), history_.data(), out.history.size() * sizeof(double),
                              cudaMemcpyDeviceToHost));
        state_.check_guard_bands();
        history_.check_guard_bands();
        const bool positive = s.end != End::not_positive; // p . q
        out.curvature = positive ? 0 : s.pq;
        out.end = positive ? s.end : end_without_curvature<T>(out.history);
        if (s.end == End::none) throw gpulab::WrongResult("the device has not ended");
    }

private:
    gpulab::DeviceBuffer<State> start_;
    std::size_t limit_;
    gpulab::DeviceBuffer<State> state_;
    gpulab::DeviceBuffer<double> history_;
    gpulab::PinnedBuffer<State> seen_; // copies of the state, used in turn
    gpulab::Event arrived_[2] = {gpulab::Event(cudaEventDisableTiming), gpulab::Event(cudaEventDisableTiming)};
};

} // namespace cg
