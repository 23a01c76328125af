#include "gpulab/ceilings.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "backends.hpp"
#include "gpulab/metrics.hpp"
#include "gpulab/stopwatch.hpp"

namespace gpulab {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Runs work(thread) on every CPU thread at once, several times, and gives the best time in milliseconds.
template <class Work> double best_ms_on_all_threads(int rounds, const Work& work) {
    const int threads = hardware_threads();
    double best = 0;
    for (int round = 0; round < rounds; ++round) {
        // Making threads is not timed. The clock starts in the barrier itself, before anyone leaves it: this thread may
        // be woken when the others have done half of the work.
        Clock::time_point begin;
        std::barrier start(threads, [&]() noexcept { begin = Clock::now(); });
        std::vector<std::jthread> workers;
        for (int t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                start.arrive_and_wait();
                work(t);
            });
        workers.clear(); // joins
        const double ms = ms_since(begin);
        best = round == 0 ? ms : std::min(best, ms);
    }
    return best;
}

/// Independent multiply-adds on arrays small enough for registers; the compiler turns the inner loop into SIMD.
template <class T> double cpu_gflop_per_s() {
    constexpr int lanes =
        64 / sizeof(T) * 4; // enough independent chains to cover the latency of an FMA, few enough for registers
    constexpr std::int64_t steps = 1'000'000;
    std::vector<T> sink(static_cast<std::size_t>(hardware_threads()));
    const double ms = best_ms_on_all_threads(3, [&](int thread) {
        T x[lanes];
        for (int j = 0; j < lanes; ++j) x[j] = static_cast<T>(j + thread);
        const T factor = static_cast<T>(0.999), addend = static_cast<T>(0.001);
        for (std::int64_t i = 0; i < steps; ++i) {
            for (int j = 0; j < lanes; ++j) x[j] = x[j] * factor + addend;
#if defined(__GNUC__)
            asm volatile(""); // keeps the two loops in this order: exchanged, each chain would wait for itself
#endif
        }
        T sum = 0;
        for (int j = 0; j < lanes; ++j) sum += x[j];
        sink[static_cast<std::size_t>(thread)] = sum; // used, so that the loop is not optimised away
    });
    volatile T keep = sink[0];
    (void)keep;
    return gflop_per_s(2.0 * lanes * steps * hardware_threads(), ms);
}

} // namespace

namespace detail {

double measure_cpu_copy() {
    const std::size_t bytes =
        std::clamp<std::size_t>(host_memory_bytes() / 32, std::size_t{16} << 20, std::size_t{256} << 20);
    const auto threads = static_cast<std::size_t>(hardware_threads());
    const std::size_t part = bytes / threads;
    std::vector<char> from(bytes, 1), to(bytes, 2); // written once, so that every page exists
    const double ms = best_ms_on_all_threads(5, [&](int t) {
        const std::size_t begin = static_cast<std::size_t>(t) * part;
        std::memcpy(to.data() + begin, from.data() + begin, part);
    });
    return gb_per_s(2.0 * static_cast<double>(part * threads), ms);
}

double measure_cpu_arithmetic(Arithmetic kind) {
    return kind == Arithmetic::fp64 ? cpu_gflop_per_s<double>() : cpu_gflop_per_s<float>();
}

} // namespace detail

const Ceilings& ceilings(const Device& device, Arithmetic arithmetic) {
    static std::mutex mutex;
    static std::map<std::string, Ceilings> known;
    const std::lock_guard lock(mutex);
    Ceilings& c = known[device.id()];
    use(device);
    if (c.copy_gb_s == 0) {
        switch (device.backend) {
        case Backend::cpu: c.copy_gb_s = detail::measure_cpu_copy(); break;
        case Backend::opencl: c.copy_gb_s = detail::measure_opencl_copy(device); break;
        case Backend::cuda: c.copy_gb_s = detail::measure_cuda_copy(device); break;
        }
    }
    double* rate = arithmetic == Arithmetic::fp32 ? &c.fp32_gflop_s : &c.fp64_gflop_s;
    if (arithmetic != Arithmetic::none && *rate == 0 && (arithmetic == Arithmetic::fp32 || device.fp64)) {
        switch (device.backend) {
        case Backend::cpu: *rate = detail::measure_cpu_arithmetic(arithmetic); break;
        case Backend::opencl: *rate = detail::measure_opencl_arithmetic(device, arithmetic); break;
        case Backend::cuda: *rate = detail::measure_cuda_arithmetic(device, arithmetic); break;
        }
    }
    return c;
}

double roofline_ms(const Ceilings& c, double bytes, double flops, Arithmetic arithmetic) {
    const double rate = arithmetic == Arithmetic::fp32   ? c.fp32_gflop_s
                        : arithmetic == Arithmetic::fp64 ? c.fp64_gflop_s
                                                         : 0;
    const double copy_ms = c.copy_gb_s > 0 ? bytes / (c.copy_gb_s * 1e6) : 0;
    const double flop_ms = rate > 0 ? flops / (rate * 1e6) : 0;
    return std::max(copy_ms, flop_ms);
}

} // namespace gpulab
