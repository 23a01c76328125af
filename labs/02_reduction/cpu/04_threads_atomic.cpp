// Rung 4: as rung 3, with an atomic addition in place of the mutex.
//
// Changed: std::atomic<double>::fetch_add (C++20) reads, adds and writes as one step that no other thread can
// interrupt. No thread holds a lock that others wait for.
// Limit: as in rung 3. With one addition per thread the two cost the same.
#include <algorithm>
#include <atomic>

#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void cpu_threads_atomic(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());
    const std::size_t share = p.size() / threads;
    const std::size_t remainder = p.size() % threads;

    const auto run = [&] {
        std::atomic<double> total = 0;
        {
            gpulab::Threads workers;
            for (std::size_t t = 0; t < threads; ++t) {
                const std::size_t begin = t * share + std::min(t, remainder);
                const std::size_t end = begin + share + (t < remainder ? 1 : 0);
                workers.start([&, begin, end] {
                    double local = 0;
                    for (std::size_t i = begin; i < end; ++i) local += p.a[i];
                    total.fetch_add(local);
                });
            }
        }
        sum[0] = static_cast<T>(total.load());
    };
    watch.tile(threads);
    watch.time(run, gpulab::poisoning(sum));
}

template SumRun<float> cpu_threads_atomic<float>;
template SumRun<double> cpu_threads_atomic<double>;

} // namespace reduction
