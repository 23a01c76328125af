// OpenCL rung 3: ELLPACK, one work-item per row.
//
// Changed: the format. The slots are stored column-major (slot 0 of all rows, then slot 1, ...), so at every step
// neighbouring items read neighbouring entries.
// Limit: the padding, which is read too. A matrix with a few long rows is refused.
#include "03_ell.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void opencl_ell(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Ell<T> a = gpulab::to_ell(p.matrix);
    const gpulab::ClBuffer<std::int32_t> column(a.column);
    const gpulab::ClBuffer<T> value(a.value), x(p.x);
    gpulab::ClBuffer<T> out(a.rows);

    cl::Kernel kernel = gpulab::opencl_kernel(ell_cl, "spmv", gpulab::real_option<T>());
    const cl_ulong rows = a.rows, width = a.width;
    gpulab::set_args(kernel, column.data(), value.data(), x.data(), out.data(), rows, width);

    constexpr std::size_t local = 128;
    const std::size_t global = gpulab::global_size(rows, local);
    watch.tile(local, "rows");
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(opencl_ell);

} // namespace spmv
