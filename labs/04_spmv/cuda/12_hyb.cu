// Rung 12: HYB: ELL for the first entries of each row, COO for the rest.
//
// Changed: the kernels of rungs 8 and 9, one after the other. The ELL part is as wide as at least a third of the rows
// are long; it writes all of y. Then the COO part adds its entries, and does not clear y before. Commands of a stream
// run in order, so the second kernel finds what the first has written.
// Limit: the padding of the rows that are shorter than the ELL part, and the atomic additions of the COO part.
#include "device_memory.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "products.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void cuda_hyb(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Hyb<T> a = gpulab::to_hyb(p.matrix);
    check_device_memory("HYB", a.bytes());
    const gpulab::DeviceBuffer<int> ell_column(a.ell.column), row(a.rest.row), column(a.rest.column);
    const gpulab::DeviceBuffer<T> ell_value(a.ell.value), value(a.rest.value), x(p.x);
    gpulab::DeviceBuffer<T> out(p.matrix.rows);
    watch.tile(ell_threads, "rows");
    watch.tile(32, "nnz"); // that a warp of the COO part adds up by row
    watch.tile(coo_threads, "nnz");
    const auto launch = [&](cudaStream_t stream) {
        ell_product(ell_column, ell_value, x, out, a.ell.width, stream);
        if (value.size() > 0) add_coo_product(row, column, value, x, out, stream);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(cuda_hyb);

} // namespace spmv
