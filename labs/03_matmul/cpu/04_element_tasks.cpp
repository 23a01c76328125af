// Rung 4: one task per element of C. (Alfaro Vigo & Rossetto, program 1.6)
//
// Changed: the loops over i and j are gone. Each pair (i, j) is a task, and one thread per core takes the next task
// until none is left. (A thread per element would need a million threads for a 1000 x 1000 matrix.)
// The book adds floats in an int, which drops the fraction at every step; here the sum has type T.
// Limit: each task walks down a column of B, as in cpu_ijk. Where sums are short, the limit is the counter: all threads
// increment it, so its cache line moves from core to core for every task.
#include <atomic>

#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "matmul.hpp"

namespace matmul {

namespace {

/// Element (i, j) of C.
template <class T> T element(const Problem<T>& p, std::size_t i, std::size_t j) {
    T sum = 0;
    for (std::size_t l = 0; l < p.k; ++l) sum += p.a[i * p.k + l] * p.b[l * p.n + j];
    return sum;
}

} // namespace

template <class T> void cpu_element_tasks(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const int threads = gpulab::hardware_threads();
    watch.tile(static_cast<std::size_t>(threads));
    const auto run = [&] {
        std::atomic<std::size_t> next{0};
        gpulab::Threads workers; // waits for its threads when it goes out of scope
        for (int t = 0; t < threads; ++t)
            workers.start([&] {
                for (std::size_t e = next++; e < p.size(); e = next++) c[e] = element(p, e / p.n, e % p.n);
            });
    };
    watch.time(run, gpulab::poisoning(c));
}

INSTANTIATE_RUNG(cpu_element_tasks);

} // namespace matmul
