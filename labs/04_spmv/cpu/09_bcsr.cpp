// Rung 9: BCSR, blocked CSR: the CSR of a matrix of dense blocks, here of 2 x 2 elements. (Bueno, section 1.2)
//
// Changed: one column is stored for four elements, and a block's two elements of x serve two rows. Matrices whose
// unknowns come in groups, such as the directions in which a mass can move, consist of such blocks.
// Limit: the padding. A block with a single entry stores three zeros. They are multiplied, so x must be finite.
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cpu_bcsr(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    check_finite_x(p, "BCSR");
    const gpulab::Bcsr<T> a = gpulab::to_bcsr(p.matrix);
    const auto run = [&] {
        for (std::size_t b = 0; b + 1 < a.block_start.size(); ++b) {
            T upper = 0, lower = 0; // the sums of rows 2 b and 2 b + 1
            for (auto k = static_cast<std::size_t>(a.block_start[b]);
                 k < static_cast<std::size_t>(a.block_start[b + 1]); ++k) {
                const T* const block = &a.value[4 * k];
                const auto j = 2 * static_cast<std::size_t>(a.block_column[k]);
                const T x0 = p.x[j], x1 = j + 1 < a.columns ? p.x[j + 1] : T{0};
                upper += block[0] * x0 + block[1] * x1;
                lower += block[2] * x0 + block[3] * x1;
            }
            y[2 * b] = upper;
            if (2 * b + 1 < a.rows) y[2 * b + 1] = lower; // the number of rows may be odd
        }
    };
    watch.time(run, gpulab::poisoning(y));
}

INSTANTIATE_RUNG(cpu_bcsr);

} // namespace spmv
