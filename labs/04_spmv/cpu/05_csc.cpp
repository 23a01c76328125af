// Rung 5: CSC, compressed sparse columns: the CSR of the transposed matrix.
//
// Changed: the loop runs over the columns. x is read in order, once per column; the accesses to y are scattered.
// Limit: the scattered additions to y. Threads can share what they read, but not the sums they add to. CSC suits direct
// solvers and the product with the transposed matrix, for which it does what CSR does here.
#include <algorithm>

#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_csc(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Csc<T> a = gpulab::to_csc(p.matrix);
    const auto run = [&] {
        std::fill(y.begin(), y.end(), T{0});
        for (std::size_t j = 0; j < a.columns; ++j) {
            const T x = p.x[j];
            for (auto k = static_cast<std::size_t>(a.column_start[j]);
                 k < static_cast<std::size_t>(a.column_start[j + 1]); ++k)
                y[static_cast<std::size_t>(a.row[k])] += a.value[k] * x;
        }
    };
    watch.time(run, gpulab::poisoning(y));
}

INSTANTIATE_RUNG(cpu_csc);

} // namespace spmv
