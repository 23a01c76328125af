// Rung 1: three loops. (Alfaro Vigo & Rossetto, program 1.5)
//
// Each element of C in turn: row i of A times column j of B.
// Limit: the column. Its numbers lie n elements apart, so every step of the inner loop touches another cache line and
// uses one number of it. The sum is also a single long chain of additions, in which each waits for the one before.
#include "matmul.hpp"

namespace matmul {

template <class T> void cpu_ijk(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    const auto run = [&] {
        for (std::size_t i = 0; i < p.m; ++i)
            for (std::size_t j = 0; j < p.n; ++j) {
                T sum = 0;
                for (std::size_t l = 0; l < p.k; ++l) sum += p.a[i * p.k + l] * p.b[l * p.n + j];
                c[i * p.n + j] = sum;
            }
    };
    watch.time(run, gpulab::poisoning(c));
}

INSTANTIATE_RUNG(cpu_ijk);

} // namespace matmul
