// Study lost-update: threads of the CPU add to one number.
//
// `++total` is three instructions: load the number, add 1, store it. Where two threads load the same number, both store
// the same sum, and one of the two additions is lost. In C++ an unprotected `++total` by several threads is undefined,
// and the compiler may do all additions of a thread in a register. So the load and the store are written out here: both
// are operations of std::atomic, but the two together are not one step. fetch_add is.
#include <algorithm>
#include <atomic>

#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "studies.hpp"

namespace reduction {

void cpu_count(std::size_t n, Addition addition, Count& count, Stopwatch& watch) {
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());
    const auto run = [&] {
        std::atomic<std::uint32_t> total = 0;
        {
            gpulab::Threads workers;
            for (std::size_t t = 0; t < threads; ++t) {
                const std::size_t share = n / threads + (t < n % threads ? 1 : 0);
                workers.start([&total, share, addition] {
                    for (std::size_t i = 0; i < share; ++i)
                        if (addition == Addition::atomic) total.fetch_add(1, std::memory_order_relaxed);
                        else total.store(total.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
                });
            }
        } // the end of `workers` waits for its threads
        count[0] = total.load();
    };
    watch.time(run, gpulab::poisoning(count));
}

} // namespace reduction
