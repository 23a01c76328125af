// A histogram by one loop on one core; the speed-ups are relative to it.
// Limit: where neighbours lie in the same bin, each addition waits for the one before.
#include "histogram.hpp"

namespace reduction {

template <class T> void cpu_histogram(const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch) {
    const auto run = [&] {
        counts.assign(p.bins, 0);
        for (const T x : p.a) ++counts[static_cast<std::size_t>(x)];
    };
    watch.time(run, gpulab::poisoning(counts));
}

template HistogramRun<float> cpu_histogram<float>;
template HistogramRun<double> cpu_histogram<double>;

} // namespace reduction
