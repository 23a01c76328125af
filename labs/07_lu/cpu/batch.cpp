// Batch: many small matrices, one after the other, or distributed over the cores.
//
// A small matrix stays in a core's own caches from the first step to the last (32 x 32 doubles are 8 KiB, 128 x 128 are
// 128 KiB), so memory does not limit the elimination of rung 1 here, and blocks would gain nothing. The matrices are
// independent: the threads share them out, and none waits for another.
// Limit: short loops. In step i each row has n - i - 1 elements to update, which fill few of the core's vectors.
#include <algorithm>
#include <cmath>

#include "batch.hpp"
#include "gpulab/parallel.hpp"

namespace lu {

namespace {

/// Right-looking elimination of one matrix in place, as cpu_right_looking_pivot does it.
void eliminate(double* a, std::int32_t* pivots, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        double* const row_i = a + i * n;
        std::size_t best = i;
        double largest = 0;
        for (std::size_t j = i; j < n; ++j)
            if (std::abs(a[j * n + i]) > largest) {
                best = j;
                largest = std::abs(a[j * n + i]);
            }
        pivots[i] = static_cast<std::int32_t>(best);
        if (best != i) std::swap_ranges(row_i, row_i + n, a + best * n);
        for (std::size_t j = i + 1; j < n; ++j) {
            double* const row_j = a + j * n;
            row_j[i] /= row_i[i];
            for (std::size_t k = i + 1; k < n; ++k) row_j[k] -= row_j[i] * row_i[k];
        }
    }
}

void eliminate(Factors& f, std::size_t begin, std::size_t end) {
    for (std::size_t m = begin; m < end; ++m) eliminate(f.lu.data() + m * f.n * f.n, f.pivots.data() + m * f.n, f.n);
}

} // namespace

void cpu_batch_sequential(const Problem& p, Factors& f, Stopwatch& watch) {
    watch.time([&] { eliminate(f, 0, p.count); }, [&] { restore(p, f); });
    check_pivots(f, true);
}

void cpu_batch_threads(const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr std::size_t worth_a_thread = 16;
    watch.tile(worth_a_thread, "matrices");
    watch.time(
        [&] {
            gpulab::for_ranges(p.count, worth_a_thread,
                               [&](std::size_t begin, std::size_t end) { eliminate(f, begin, end); });
        },
        [&] { restore(p, f); });
    check_pivots(f, true);
}

} // namespace lu
