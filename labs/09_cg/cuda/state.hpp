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

/// State::stop. The iteration that ends sets `stopping`; after its last kernel it becomes `stopped`.
enum StopCode : int { go_on = 0, stopping = 1, stopped = 2 };

/// The scalars on the device.
struct State {
    double rho, alpha, beta; ///< rho is r . z
    double pq;               ///< p . q, of the last iteration
    double least_pq;         ///< with which the iteration goes on: see note_residual()
    unsigned long long iteration;
    int stop; ///< a StopCode
    End end;
    unsigned tickets; ///< of is_last_block()
};

/// What does not change.
struct Rules {
    double stop_at;
    unsigned long long limit;
    bool steepest;  ///< beta is 0
    double epsilon; ///< of the type of the numbers
};
template <class T> Rules rules_of(const Problem<T>& p) {
    return {p.stop_at, p.limit, p.steepest, std::numeric_limits<T>::epsilon()};
}

#if defined(__CUDACC__)
/// Below it a number has lost digits.
constexpr double smallest_normal = std::numeric_limits<double>::min();

/// Whether the residual of iteration k is nothing but rounding. end_without_curvature() decides in the same way.
__device__ inline bool is_exhausted(const double* history, unsigned long long k, const Rules& rules) {
    return __ldcg(&history[k]) <= rules.epsilon * __ldcg(&history[0]);
}

/// Whether the iteration can go on with this p . q, as the function of this name in cg.hpp.
__device__ inline bool has_curvature(double pq, const State* s) { return pq > 0 && pq >= s->least_pq && isfinite(pq); }

/// Takes p . q of this iteration. Called by one thread.
__device__ inline void note_product(State* s, double pq) {
    s->pq = pq;
    if (has_curvature(pq, s)) {
        s->alpha = s->rho / pq;
    } else {
        s->stop = stopped;
        s->end = isfinite(pq) ? End::not_positive : End::not_finite;
    }
}

/// Takes r . r after iteration k. Called by one thread.
__device__ inline void note_residual(State* s, double* history, unsigned long long k, double rr, const Rules& rules) {
    const double norm = sqrt(rr);
    history[k] = norm;
    s->iteration = k;
    s->least_pq = is_exhausted(history, k, rules) ? smallest_normal : 0;
    s->end = !isfinite(norm)         ? End::not_finite
             : norm <= rules.stop_at ? End::converged
             : k >= rules.limit      ? End::limit
                                     : End::none;
    if (s->end != End::none) s->stop = k == 0 ? stopped : stopping;
}
#endif

/// The state and the history in device memory.
class DeviceState {
public:
    explicit DeviceState(std::size_t limit) : state_(1), history_(limit + 1), seen_(2) {}

    State* data() { return state_.data(); }
    double* history() { return history_.data(); }

    /// Zeros all scalars.
    void clear(cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(state_.data(), 0, state_.bytes(), stream)); }
    void poison(cudaStream_t stream) {
        state_.poison_async(stream);
        history_.poison_async(stream);
    }

    /// Launches iterations until the device has ended. The host looks at a copy of the state that is one launch old, so
    /// that the device never waits for it; what is launched after the end does nothing.
    /// @param launch `launch(left)` puts iterations into the stream and returns how many. It may put in more than
    /// `left`:
    ///        the device stops at the limit
    /// @param wait `wait(event)` returns when the event has been reached, or throws
    template <class Launch, class Wait = void (*)(const gpulab::Event&)>
    void until_stopped(
        cudaStream_t stream, std::size_t limit, const Launch& launch,
        const Wait& wait = [](const gpulab::Event& event) { event.synchronize(); }) {
        std::size_t launched = 0;
        for (std::size_t slot = 0; launched < limit; slot = 1 - slot) {
            const bool first = launched == 0;
            launched += launch(limit - launched);
            CUDA_CHECK(cudaMemcpyAsync(&seen_[slot], state_.data(), sizeof(State), cudaMemcpyDeviceToHost, stream));
            arrived_[slot].record(stream);
            if (first) continue;
            wait(arrived_[1 - slot]);
            if (seen_[1 - slot].stop != go_on) break;
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
    gpulab::DeviceBuffer<State> state_;
    gpulab::DeviceBuffer<double> history_;
    gpulab::PinnedBuffer<State> seen_; // copies of the state, used in turn
    gpulab::Event arrived_[2] = {gpulab::Event(cudaEventDisableTiming), gpulab::Event(cudaEventDisableTiming)};
};

} // namespace cg
