// Rung 5: one task per row of C. (Alfaro Vigo & Rossetto, exercise 1.1)
//
// Changed: a task is a whole row, computed in the order of cpu_ikj. There are n times fewer tasks, and two threads
// write to the same cache line only where one row ends and the next begins.
// Limit: loads, as in cpu_ikj, on all cores: all of B passes through a core for each row.
#include <algorithm>
#include <atomic>

#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "matmul.hpp"

namespace matmul {

template <class T> void cpu_row_tasks(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const int threads = gpulab::hardware_threads();
    watch.tile(static_cast<std::size_t>(threads), "m");
    const auto run = [&] {
        std::atomic<std::size_t> next{0};
        gpulab::Threads workers;
        for (int t = 0; t < threads; ++t)
            workers.start([&] {
                for (std::size_t i = next++; i < p.m; i = next++) {
                    T* const row = c.data() + i * p.n;
                    std::fill(row, row + p.n, T{0});
                    for (std::size_t l = 0; l < p.k; ++l) {
                        const T factor = p.a[i * p.k + l];
                        const T* const b = p.b.data() + l * p.n;
                        for (std::size_t j = 0; j < p.n; ++j) row[j] += factor * b[j];
                    }
                }
            });
    };
    watch.time(run, gpulab::poisoning(c));
}

INSTANTIATE_RUNG(cpu_row_tasks);

} // namespace matmul
