// Rung 2: CSR with one thread per core.
//
// Changed: each thread takes a range of consecutive rows. Rows differ in length, so ranges of equally many rows would
// not be equal work. The ranges are cut where row_start passes equal shares of the non-zeros; row_start is sorted, so a
// binary search finds these places.
// Limit: main memory. A row longer than a thread's share is still the work of one thread.
#include <algorithm>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/threads.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_threads(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Csr<T>& a = p.matrix;
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());

    // Thread t takes rows cut[t] ... cut[t+1] - 1.
    std::vector<std::size_t> cut(threads + 1, a.rows);
    for (std::size_t t = 0; t < threads; ++t) {
        const auto share = static_cast<std::int64_t>(a.nonzeros() * t / threads);
        cut[t] = static_cast<std::size_t>(std::lower_bound(a.row_start.begin(), a.row_start.end() - 1, share) -
                                          a.row_start.begin());
    }
    watch.tile(threads, "rows");
    watch.tile(threads, "nnz");
    const auto run = [&] {
        gpulab::Threads workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.start([&, t] {
                for (std::size_t i = cut[t]; i < cut[t + 1]; ++i) {
                    T sum = 0;
                    for (auto k = static_cast<std::size_t>(a.row_start[i]);
                         k < static_cast<std::size_t>(a.row_start[i + 1]); ++k)
                        sum += a.value[k] * p.x[static_cast<std::size_t>(a.column[k])];
                    y[i] = sum;
                }
            });
    };
    watch.time(run, gpulab::poisoning(y));
}

INSTANTIATE_RUNG(cpu_threads);

} // namespace spmv
