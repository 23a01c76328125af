// Rung 2: P threads, each with one block of consecutive elements. (Alfaro Vigo & Rossetto, program 1.3)
//
// Changed: the index range is split into P pieces. When P does not divide n, the first n mod P threads take one
// element more: every element is computed, and the pieces differ by one element at most.
// Limit: main memory, which all threads share. More threads help until its bandwidth is used up (`--study threads`).
// The time includes starting and joining the threads, because a program that uses threads has to do that too.
#include <algorithm>

#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "saxpy.hpp"
#include "studies.hpp"

namespace saxpy {

void cpu_blocks(const Problem& p, Output& c, Stopwatch& watch) {
    cpu_blocks_of(p, c, watch, static_cast<unsigned>(gpulab::hardware_threads()));
}

void cpu_blocks_of(const Problem& p, Output& c, Stopwatch& watch, unsigned threads) {
    const std::size_t share = p.size() / threads;
    const std::size_t remainder = p.size() % threads;

    watch.tile(threads);
    const auto run = [&] {
        gpulab::Threads workers; // waits for its threads when it goes out of scope
        for (std::size_t t = 0; t < threads; ++t) {
            const std::size_t begin = t * share + std::min(t, remainder);
            const std::size_t end = begin + share + (t < remainder ? 1 : 0);
            workers.start([&, begin, end] {
                for (std::size_t i = begin; i < end; ++i) c[i] = p.k * p.a[i] + p.b[i];
            });
        }
    };
    watch.time(run, gpulab::poisoning(c));
}

} // namespace saxpy
