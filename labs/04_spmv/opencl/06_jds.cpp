// OpenCL rung 6: JDS, jagged diagonals, one work-item per row.
//
// Changed: the rows are sorted by falling length. Neighbouring items read neighbouring entries, as in ELL, but there is
// no padding, and the rows of a group are about equally long. So no matrix is refused.
// Limit: the longest row is the work of one item. y is written in the order of the sorted rows, which is scattered, and
// rows that were neighbours no longer share elements of x.
#include "06_jds.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void opencl_jds(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Jds<T> a = gpulab::to_jds(p.matrix);
    const gpulab::ClBuffer<std::int32_t> row(a.row), column(a.column);
    const gpulab::ClBuffer<std::int64_t> start(a.start);
    const gpulab::ClBuffer<T> value(a.value), x(p.x);
    gpulab::ClBuffer<T> out(a.rows);

    cl::Kernel kernel = gpulab::opencl_kernel(jds_cl, "spmv", gpulab::real_option<T>());
    const cl_ulong rows = a.rows, width = a.start.size() - 1;
    gpulab::set_args(kernel, row.data(), start.data(), column.data(), value.data(), x.data(), out.data(), rows, width);

    constexpr std::size_t local = 128;
    const std::size_t global = gpulab::global_size(rows, local);
    watch.tile(local, "rows");
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(opencl_jds);

} // namespace spmv
