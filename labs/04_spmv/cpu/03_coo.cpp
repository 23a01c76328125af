// Rung 3: coordinates, the format in which a matrix is easiest to build: one (row, column, value) per entry, any order.
//
// Changed: the row of an entry is stored, not implied, so entries need no order and there is one loop, not two.
// Limit: 4 more bytes per entry, and y is read and written for every entry instead of written once per row. Threads
// would have to share y: see cuda_coo for what that takes.
#include <algorithm>

#include "gpulab/poisoning.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T>
void cpu_multiply_coo(const gpulab::Coo<T>& a, const std::vector<T>& x, Output<T>& y, Stopwatch& watch) {
    const auto run = [&] {
        std::fill(y.begin(), y.end(), T{0}); // += needs a start: this belongs to the product
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

template void cpu_coo(const Problem<float>&, Output<float>&, Stopwatch&);
template void cpu_coo(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace spmv
