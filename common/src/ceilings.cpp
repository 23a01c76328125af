#include "gpulab/ceilings.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <vector>

#include "backends.hpp"
#include "gpulab/error.hpp"
#include "gpulab/metrics.hpp"
#include "gpulab/threads.hpp"

namespace gpulab {

namespace detail {

double ms_on_threads(int threads, const std::function<void(int)>& work) {
    using Clock = std::chrono::steady_clock;
    // Making threads is not timed. The clock starts in the barrier itself, before anyone leaves it: this thread may be
    // woken when the others have done half of the work.
    Clock::time_point begin;
    std::barrier start(threads, [&]() noexcept { begin = Clock::now(); });
    in_team(threads, start, [&](int t) {
        start.arrive_and_wait();
        work(t);
    });
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

namespace {

/// The shortest of several rounds, in milliseconds.
double best_ms(int rounds, int threads, const RoundTimer& round, const std::function<void(int)>& work) {
    double best = round(threads, work);
    for (int i = 1; i < rounds; ++i) best = std::min(best, round(threads, work));
    return best;
}

} // namespace

void copy_share(std::span<const char> from, std::span<char> to, int thread, int threads) {
    const auto edge = [&](int t) {
        return from.size() * static_cast<std::size_t>(t) / static_cast<std::size_t>(threads);
    };
    const std::size_t begin = edge(thread), end = edge(thread + 1);
    if (end > begin) std::memcpy(to.data() + begin, from.data() + begin, end - begin);
}

std::size_t cpu_copy_bytes(std::uint64_t memory_bytes) {
    return std::clamp<std::size_t>(memory_bytes / 32, std::size_t{16} << 20, std::size_t{256} << 20);
}

double cpu_copy_gb_per_s(const RoundTimer& round, std::size_t bytes, int threads) {
    std::vector<char> from(bytes, 1), to(bytes, 2); // written once, so that every page exists
    const double ms = best_ms(5, threads, round, [&](int thread) { copy_share(from, to, thread, threads); });
    return gb_per_s(2.0 * static_cast<double>(bytes), ms); // every byte is read and written
}

template <class T> T cpu_multiply_adds(int thread, std::int64_t steps) {
    constexpr int chains = cpu_chains<T>;
    T x[chains];
    for (int j = 0; j < chains; ++j) x[j] = static_cast<T>(j + thread);
    const T factor = static_cast<T>(0.999), addend = static_cast<T>(0.001);
    for (std::int64_t i = 0; i < steps; ++i) {
        for (int j = 0; j < chains; ++j) x[j] = x[j] * factor + addend; // the compiler makes SIMD of this loop
#if defined(__GNUC__)
        asm volatile(""); // keeps the two loops in this order: exchanged, each chain would wait for itself
#endif
    }
    T sum = 0;
    for (int j = 0; j < chains; ++j) sum += x[j];
    return sum;
}
template float cpu_multiply_adds<float>(int, std::int64_t);
template double cpu_multiply_adds<double>(int, std::int64_t);

namespace {

template <class T> double gflop_per_s_of(int threads, std::int64_t steps, const RoundTimer& round) {
    std::vector<T> sums(static_cast<std::size_t>(threads)); // kept, so that no computation is optimised away
    const double ms = best_ms(3, threads, round, [&](int thread) {
        sums[static_cast<std::size_t>(thread)] = cpu_multiply_adds<T>(thread, steps);
    });
    volatile T keep = sums[0];
    (void)keep;
    const double chains = static_cast<double>(cpu_chains<T>) * threads;
    return gflop_per_s(2.0 * chains * static_cast<double>(steps), ms); // a multiply-add is two operations
}

} // namespace

double cpu_gflop_per_s(Arithmetic kind, const RoundTimer& round, std::int64_t steps, int threads) {
    return kind == Arithmetic::fp64 ? gflop_per_s_of<double>(threads, steps, round)
                                    : gflop_per_s_of<float>(threads, steps, round);
}

namespace {
/// The rate of all threads, or of fewer where the system does not have as many.
template <class Rate> double rate_of_threads(const Rate& rate) {
    for (int threads = hardware_threads();; threads /= 2) try {
            return rate(threads);
        } catch (const Unsupported&) { // one thread is there
        }
}
} // namespace

double measure_cpu(const Device&, Arithmetic kind) {
    const std::size_t bytes = cpu_copy_bytes(host_memory_bytes()) / ceilings_divisor();
    const std::int64_t steps = cpu_steps / static_cast<std::int64_t>(ceilings_divisor());
    return rate_of_threads([&](int threads) {
        return kind == Arithmetic::none ? cpu_copy_gb_per_s(ms_on_threads, bytes, threads)
                                        : cpu_gflop_per_s(kind, ms_on_threads, steps, threads);
    });
}

const Ceilings& KeptCeilings::of(const Device& device, Arithmetic arithmetic) {
    const std::lock_guard lock(mutex_);
    Ceilings& c = known_[device.id()];
    if (c.copy_gb_s == 0) c.copy_gb_s = measure_(device, Arithmetic::none);
    if (arithmetic == Arithmetic::fp32 && c.fp32_gflop_s == 0) c.fp32_gflop_s = measure_(device, arithmetic);
    if (arithmetic == Arithmetic::fp64 && c.fp64_gflop_s == 0 && device.fp64)
        c.fp64_gflop_s = measure_(device, arithmetic);
    return c;
}

Measure& measure_of(Backend backend) {
    return backend == Backend::cpu ? measure_cpu : backend == Backend::opencl ? measure_opencl : measure_cuda;
}

} // namespace detail

const Ceilings& ceilings(const Device& device, Arithmetic arithmetic) {
    static detail::KeptCeilings kept(
        [](const Device& d, Arithmetic kind) { return detail::measure_of(d.backend)(d, kind); });
    static const Ceilings none;
    if (device.emulated) return none;
    use(device);
    return kept.of(device, arithmetic);
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
