// Rung 4: Thomas, with the systems shared out among threads.
//
// Changed: systems do not depend on each other, so each thread takes a run of them. Within a system nothing changes.
// Limit: as in cpu_thomas, per core; then main memory. A single system keeps a single core busy.
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/threads.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal {

template <class T> void cpu_threads(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const auto threads = static_cast<std::size_t>(gpulab::hardware_threads());
    std::vector<std::vector<T>> scratch(threads, std::vector<T>(p.n)); // c' of one system for each thread
    watch.tile(threads, "systems");
    const auto run = [&] {
        gpulab::Threads workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.start([&, t] {
                std::vector<T>& c_new = scratch[t];
                for (std::size_t s = p.systems * t / threads; s < p.systems * (t + 1) / threads; ++s) {
                    const T *a = &p.a[s * p.n], *b = &p.b[s * p.n], *c = &p.c[s * p.n], *d = &p.d[s * p.n];
                    T* x = &out.x[s * p.n];
                    std::int32_t zero = no_zero_pivot;
                    for (std::size_t i = 0; i < p.n; ++i) {
                        const T pivot = i == 0 ? b[i] : b[i] - a[i] * c_new[i - 1];
                        if (pivot == 0 && zero == no_zero_pivot) zero = static_cast<std::int32_t>(i);
                        c_new[i] = c[i] / pivot;
                        x[i] = (i == 0 ? d[i] : d[i] - a[i] * x[i - 1]) / pivot;
                    }
                    for (std::size_t i = p.n - 1; i-- > 0;) x[i] -= c_new[i] * x[i + 1];
                    out.zero_pivot[s] = zero;
                }
            });
    };
    watch.time(run, [&] {
        poison(out);
        for (std::vector<T>& c_new : scratch) gpulab::poison(c_new);
    });
}

INSTANTIATE_RUNG(cpu_threads);

} // namespace tridiagonal
