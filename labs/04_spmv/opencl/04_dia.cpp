// OpenCL rung 4: DIA, one work-item per row.
//
// Changed: no column is stored. At every step the items of a group read neighbouring values, and neighbouring elements
// of x: nothing is gathered.
// Limit: the padding, which is read and multiplied, too. A matrix with random columns is refused.
#include "04_dia.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void opencl_dia(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    check_finite_x(p, "DIA");
    const gpulab::Dia<T> a = gpulab::to_dia(p.matrix);
    const gpulab::ClBuffer<std::int32_t> offset(a.offset);
    const gpulab::ClBuffer<T> value(a.value), x(p.x);
    gpulab::ClBuffer<T> out(a.rows);

    cl::Kernel kernel = gpulab::opencl_kernel(dia_cl, "spmv", gpulab::real_option<T>());
    const cl_ulong rows = a.rows, columns = a.columns, diagonals = a.offset.size();
    gpulab::set_args(kernel, offset.data(), value.data(), x.data(), out.data(), rows, columns, diagonals);

    constexpr std::size_t local = 128;
    const std::size_t global = gpulab::global_size(rows, local);
    watch.tile(local, "rows");
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(opencl_dia);

} // namespace spmv
