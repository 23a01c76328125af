// Rung 7: HYB, the hybrid format: ELL for the first entries of each row, COO for the rest. (Bueno, section 1.2)
//
// Changed: the width of ELL is the one that at least a third of the rows fill, not the longest row. So a few long rows
// no longer multiply the memory, and no matrix is refused.
// Limit: what limits its two parts: y is read and written for every slot, and for every entry of the rest.
#include <algorithm>

#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_hyb(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Hyb<T> a = gpulab::to_hyb(p.matrix);
    const gpulab::Ell<T>& ell = a.ell;
    const gpulab::Coo<T>& rest = a.rest;
    const auto run = [&] {
        const T* const x = p.x.data();
        T* const sum = y.data();
        std::fill(y.begin(), y.end(), T{0});
        for (std::size_t s = 0; s < ell.width; ++s)
            for (std::size_t i = 0; i < ell.rows; ++i) {
                const std::int32_t j = ell.column[s * ell.rows + i];
                if (j != gpulab::Ell<T>::no_column) sum[i] += ell.value[s * ell.rows + i] * x[j];
            }
        for (std::size_t k = 0; k < rest.nonzeros(); ++k) sum[rest.row[k]] += rest.value[k] * x[rest.column[k]];
    };
    watch.time(run, gpulab::poisoning(y));
}

INSTANTIATE_RUNG(cpu_hyb);

} // namespace spmv
