// Rung 3: P threads, each with a consecutive part of the array and a sum of its own; the sums are joined under mutual
// exclusion. (Alfaro Vigo & Rossetto, program 1.8)
//
// Changed: P loops at once. Without the mutex two threads could both read the total, both add, and one addition would
// be lost: `total += local` is a read, an addition and a write. A thread takes the mutex once, not once per element.
// Joining the threads is the other synchronisation the book asks for: the total is complete only after all have ended.
// Limit: the P chains of additions, and starting the threads when n is small.
#include <algorithm>
#include <mutex>

#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void cpu_threads_mutex(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());
    const std::size_t share = p.size() / threads;
    const std::size_t remainder = p.size() % threads; // the first threads take one element more

    const auto run = [&] {
        double total = 0;
        std::mutex mutex;
        {
            gpulab::Threads workers; // waits for its threads when it goes out of scope
            for (std::size_t t = 0; t < threads; ++t) {
                const std::size_t begin = t * share + std::min(t, remainder);
                const std::size_t end = begin + share + (t < remainder ? 1 : 0);
                workers.start([&, begin, end] {
                    double local = 0;
                    for (std::size_t i = begin; i < end; ++i) local += p.a[i];
                    const std::lock_guard lock(mutex);
                    total += local;
                });
            }
        }
        sum[0] = static_cast<T>(total);
    };
    watch.tile(threads);
    watch.time(run, gpulab::poisoning(sum));
}

template SumRun<float> cpu_threads_mutex<float>;
template SumRun<double> cpu_threads_mutex<double>;

} // namespace reduction
