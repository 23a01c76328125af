// Rung 4: ELLPACK, every row padded to the length of the longest.
//
// Changed: all rows have the same number of slots, so no row pointers are needed. The slots are stored column-major:
// slot 0 of all rows, then slot 1 of all rows, and so on. That is the order for a GPU (see cuda_ell). Here y is read
// and written once for each slot.
// Limit: y is read and written for every slot; with uneven rows, the padding. One long row multiplies the memory, and
// such a matrix is refused.
#include <algorithm>

#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_ell(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Ell<T> a = gpulab::to_ell(p.matrix);
    const auto run = [&] {
        const T* const x = p.x.data();
        T* const sum = y.data();
        std::fill(y.begin(), y.end(), T{0});
        for (std::size_t s = 0; s < a.width; ++s)
            for (std::size_t i = 0; i < a.rows; ++i) {
                const std::int32_t j = a.column[s * a.rows + i];
                if (j != gpulab::Ell<T>::no_column) sum[i] += a.value[s * a.rows + i] * x[j];
            }
    };
    watch.time(run, gpulab::poisoning(y));
}

INSTANTIATE_RUNG(cpu_ell);

} // namespace spmv
