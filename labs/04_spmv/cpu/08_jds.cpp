// Rung 8: JDS, jagged diagonals: the rows sorted by falling length, then stored as in ELL. (Bueno, section 1.2)
//
// Changed: the rows that have an entry s are the first ones of the sorted order, so each jagged diagonal ends where
// they end, and there is no padding. The sums are in the sorted order, too; at the end they are put in their places.
// Limit: a sum is read and written for every entry. Neighbouring rows are no longer neighbours after sorting, so x is
// gathered from more places.
#include <algorithm>
#include <vector>

#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_jds(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Jds<T> a = gpulab::to_jds(p.matrix);
    std::vector<T> sum(a.rows); // of the r-th longest row
    const auto run = [&] {
        const T* const x = p.x.data();
        std::fill(sum.begin(), sum.end(), T{0});
        for (std::size_t s = 0; s + 1 < a.start.size(); ++s) {
            const auto first = static_cast<std::size_t>(a.start[s]), end = static_cast<std::size_t>(a.start[s + 1]);
            for (std::size_t k = first; k < end; ++k) sum[k - first] += a.value[k] * x[a.column[k]];
        }
        for (std::size_t r = 0; r < a.rows; ++r) y[static_cast<std::size_t>(a.row[r])] = sum[r];
    };
    watch.time(run, gpulab::poisoning(y, sum));
}

INSTANTIATE_RUNG(cpu_jds);

} // namespace spmv
