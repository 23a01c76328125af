// Rung 6: DIA, every diagonal that holds an entry stored in full. (Bueno, section 1.2)
//
// Changed: the entries of a diagonal lie side by side, and so do the elements of x and y that they meet. The column is
// the row plus the offset of the diagonal, so no column is stored and x is not gathered: the compiler can use vector
// instructions.
// Limit: y is read and written for every diagonal. The padding is multiplied, so x must be finite. An entry far from
// the others costs a whole diagonal, and a matrix with random columns is refused.
#include <algorithm>

#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_dia(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    check_finite_x(p, "DIA");
    const gpulab::Dia<T> a = gpulab::to_dia(p.matrix);
    const auto rows = static_cast<std::int64_t>(a.rows), columns = static_cast<std::int64_t>(a.columns);
    const auto run = [&] {
        std::fill(y.begin(), y.end(), T{0});
        for (std::size_t d = 0; d < a.offset.size(); ++d) {
            const std::int64_t offset = a.offset[d];
            const T *const value = a.value.data() + d * a.rows, *const x = p.x.data();
            T* const sum = y.data();
            // Rows above `first` and from `end` on: their column i + offset lies outside the matrix.
            const std::int64_t first = std::max<std::int64_t>(0, -offset), end = std::min(rows, columns - offset);
            for (std::int64_t i = first; i < end; ++i) sum[i] += value[i] * x[i + offset];
        }
    };
    watch.time(run, gpulab::poisoning(y));
}

INSTANTIATE_RUNG(cpu_dia);

} // namespace spmv
