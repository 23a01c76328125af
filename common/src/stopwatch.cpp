#include "gpulab/stopwatch.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "gpulab/error.hpp"
#include "gpulab/test_hooks.hpp"

namespace gpulab {

double clock_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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

Stopwatch& Stopwatch::tile(std::size_t size, std::string_view of) {
    if (std::none_of(tiles_.begin(), tiles_.end(), [&](const Tile& t) { return t.size == size && t.of == of; }))
        tiles_.push_back({size, of});
    return *this;
}

void Stopwatch::start() {
    times_ms_.clear();
    started_ms_ = 0;
    reset_ = false;
}

bool Stopwatch::wants_more() {
    const double now_ms = clock_ms();
    if (started_ms_ == 0) started_ms_ = now_ms;
    const auto done = static_cast<int>(times_ms_.size());
    if (done >= repeats_) return false;
    const double spent_s = (now_ms - started_ms_) / 1000;
    if (budget_s_ > 0 && done >= 3 && spent_s > budget_s_) return false;
    if (hooks && hooks->listener) hooks->listener->before_run();
    return true;
}

} // namespace gpulab
