#include "gpulab/stopwatch.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "gpulab/error.hpp"
#include "gpulab/test_hooks.hpp"

namespace gpulab {

Timing summarise(std::vector<double> times_ms) {
    if (times_ms.empty()) return {};
    std::sort(times_ms.begin(), times_ms.end());
    const std::size_t n = times_ms.size();
    const double median = n % 2 == 1 ? times_ms[n / 2] : (times_ms[n / 2 - 1] + times_ms[n / 2]) / 2;
    return {median, times_ms.front(), times_ms.back(), static_cast<int>(n)};
}

bool Stopwatch::leaves_out_body() const {
    return hooks && hooks->leave_out_last_body && times_ms_.size() + 1 == static_cast<std::size_t>(repeats_);
}

void Stopwatch::record(double ms) {
    if (!(ms >= 0) || std::isinf(ms)) throw Error("a run was timed at " + std::to_string(ms) + " ms");
    times_ms_.push_back(ms);
}

void Stopwatch::start() {
    times_ms_.clear();
    started_ = {};
    reset_ = false;
}

bool Stopwatch::wants_more() {
    const auto now = std::chrono::steady_clock::now();
    if (started_ == std::chrono::steady_clock::time_point{}) started_ = now;
    const auto done = static_cast<int>(times_ms_.size());
    if (done >= repeats_) return false;
    const double spent_s = std::chrono::duration<double>(now - started_).count();
    return !(budget_s_ > 0 && done >= 3 && spent_s > budget_s_);
}

} // namespace gpulab
