// Rung 2: the two inner loops exchanged.
//
// Changed: row i of C grows by a(i, l) times row l of B. Both rows are read from left to right, so every number of a
// cache line is used. The columns do not depend on each other, so the compiler can compute 8 or 16 of them at once.
// Limit: loads. Every multiply-add loads a number of B and one of C, and stores the latter. All of B passes through the
// core once for each row of C, from whichever cache or memory holds it.
#include <algorithm>

#include "matmul.hpp"

namespace matmul {

template <class T> void cpu_ikj(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const auto run = [&] {
        std::fill(c.begin(), c.end(), T{0});
        for (std::size_t i = 0; i < p.m; ++i) {
            T* const row = c.data() + i * p.n;
            for (std::size_t l = 0; l < p.k; ++l) {
                const T factor = p.a[i * p.k + l];
                const T* const b = p.b.data() + l * p.n;
                for (std::size_t j = 0; j < p.n; ++j) row[j] += factor * b[j];
            }
        }
    };
    watch.time(run, gpulab::poisoning(c));
}

INSTANTIATE_RUNG(cpu_ikj);

} // namespace matmul
