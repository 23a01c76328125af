// The prefix sums by one loop on one core; the speed-ups are relative to it. Adds in double, or in 64-bit integers.
#include "scan.hpp"

namespace reduction {

template <class T> void cpu_scan(const ScanProblem<T>& p, Prefixes<T>& out, Stopwatch& watch) {
    using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    const auto run = [&] {
        Wide sum = 0;
        for (std::size_t i = 0; i < p.size(); ++i) {
            const Wide before = sum;
            sum += p.a[i];
            out[i] = static_cast<T>(p.kind == Scan::inclusive ? sum : before);
        }
    };
    watch.time(run, gpulab::poisoning(out));
}

template ScanRun<float> cpu_scan<float>;
template ScanRun<double> cpu_scan<double>;
template ScanRun<int> cpu_scan<int>;

} // namespace reduction
