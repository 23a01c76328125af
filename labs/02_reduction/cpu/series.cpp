// The series on the CPU: one loop, and one part of the series per thread. (Alfaro Vigo & Rossetto, exercises 1.3, 1.4)
//
// The printed pi program carries the sign from term to term. A thread that starts in the middle cannot do that; it
// takes the sign from the index, which every thread knows.
#include "series.hpp"

#include <algorithm>
#include <mutex>

#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "studies.hpp"

namespace reduction {

template <class T> void cpu_series(const SeriesProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const auto run = [&] {
        double total = 0;
        for (std::size_t i = 0; i < p.terms; ++i) total += series_term(p.series, p.x, i);
        sum[0] = static_cast<T>(total);
    };
    watch.time(run, gpulab::poisoning(sum));
}

template <class T> void cpu_series_threads(const SeriesProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    cpu_series_of(p, sum, watch, static_cast<std::size_t>(gpulab::hardware_threads()));
}

template <class T>
void cpu_series_of(const SeriesProblem<T>& p, Scalar<T>& sum, Stopwatch& watch, std::size_t threads) {
    const std::size_t share = p.terms / threads;
    const std::size_t remainder = p.terms % threads;

    const auto run = [&] {
        double total = 0;
        std::mutex mutex;
        {
            gpulab::Threads workers;
            for (std::size_t t = 0; t < threads; ++t) {
                const std::size_t begin = t * share + std::min(t, remainder);
                const std::size_t end = begin + share + (t < remainder ? 1 : 0);
                workers.start([&, begin, end] {
                    double local = 0;
                    for (std::size_t i = begin; i < end; ++i) local += series_term(p.series, p.x, i);
                    const std::lock_guard lock(mutex);
                    total += local;
                });
            }
        }
        sum[0] = static_cast<T>(total);
    };
    watch.tile(threads, "terms");
    watch.time(run, gpulab::poisoning(sum));
}

template SeriesRun<float> cpu_series<float>;
template SeriesRun<double> cpu_series<double>;
template SeriesRun<float> cpu_series_threads<float>;
template SeriesRun<double> cpu_series_threads<double>;
template void cpu_series_of(const SeriesProblem<double>&, Scalar<double>&, Stopwatch&, std::size_t);

} // namespace reduction
