// OpenCL rung 7: BCSR, blocks of 2 x 2 elements, one work-item per row.
//
// Changed: as rung 1, with blocks for entries. A column is read once for four elements, and a row of a block is two
// neighbouring values and two neighbouring elements of x.
// Limit: loads a row of blocks apart, as in rung 1; the padding, which is read and multiplied, too.
#include "07_bcsr.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void opencl_bcsr(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    check_finite_x(p, "BCSR");
    const gpulab::Bcsr<T> a = gpulab::to_bcsr(p.matrix);
    const gpulab::ClBuffer<std::int64_t> block_start(a.block_start);
    const gpulab::ClBuffer<std::int32_t> block_column(a.block_column);
    const gpulab::ClBuffer<T> value(a.value), x(p.x);
    gpulab::ClBuffer<T> out(a.rows);

    cl::Kernel kernel = gpulab::opencl_kernel(bcsr_cl, "spmv", gpulab::real_option<T>());
    const cl_ulong rows = a.rows, columns = a.columns;
    gpulab::set_args(kernel, block_start.data(), block_column.data(), value.data(), x.data(), out.data(), rows,
                     columns);

    constexpr std::size_t local = 128;
    const std::size_t global = gpulab::global_size(rows, local);
    watch.tile(local, "rows");
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(opencl_bcsr);

} // namespace spmv
