// Rung 1: CSR, one loop over the rows on one core.
//
// Row i consists of the entries row_start[i] ... row_start[i+1] - 1 of column and value. The row pointers are
// cumulative, so the loop needs only two neighbouring ones to find a row. y is written once per row.
// Limit: one core. x is read wherever the columns point, from the cache or from memory.
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_sequential(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Csr<T>& a = p.matrix;
    const auto run = [&] {
        for (std::size_t i = 0; i < a.rows; ++i) {
            T sum = 0;
            for (auto k = static_cast<std::size_t>(a.row_start[i]); k < static_cast<std::size_t>(a.row_start[i + 1]);
                 ++k)
                sum += a.value[k] * p.x[static_cast<std::size_t>(a.column[k])];
            y[i] = sum;
        }
    };
    watch.time(run, gpulab::poisoning(y));
}

INSTANTIATE_RUNG(cpu_sequential);

} // namespace spmv
