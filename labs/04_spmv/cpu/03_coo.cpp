// Rung 3: COO, coordinates: one (row, column, value) per entry, in any order. A matrix is easiest to build this way.
//
// Changed: the row of each entry is stored, so the entries need no order, and one loop over the entries is enough.
// Limit: 4 more bytes per entry. y is read and written for every entry instead of written once per row. Threads would
// have to share y: cuda_coo shows what that takes.
#include <algorithm>

#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T>
void cpu_multiply_coo(const gpulab::Coo<T>& a, const std::vector<T>& x, Output<T>& y, Stopwatch& watch) {
    const auto run = [&] {
        std::fill(y.begin(), y.end(), T{0}); // += needs zeros to start from: part of the product
        for (std::size_t k = 0; k < a.nonzeros(); ++k)
            y[static_cast<std::size_t>(a.row[k])] += a.value[k] * x[static_cast<std::size_t>(a.column[k])];
    };
    watch.time(run, gpulab::poisoning(y));
}

template <class T> void cpu_coo(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    cpu_multiply_coo(gpulab::to_coo(p.matrix), p.x, y, watch);
}

template void cpu_multiply_coo(const gpulab::Coo<float>&, const std::vector<float>&, Output<float>&, Stopwatch&);
template void cpu_multiply_coo(const gpulab::Coo<double>&, const std::vector<double>&, Output<double>&, Stopwatch&);

INSTANTIATE_RUNG(cpu_coo);

} // namespace spmv
