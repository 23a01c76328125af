// OpenCL rung 5: HYB: ELL for the first entries of each row, COO for the rest.
//
// Changed: two kernels, one for each part. The first is that of rung 3; it writes all of y. The second adds the entries
// of the rest; it starts when the first has ended, because commands of a queue run in order. OpenCL 1.2 has no atomic
// addition of floating-point numbers, so one item adds up all entries that a row has in the rest.
// Limit: that one item, where a row is long; and the padding that remains.
#include "03_ell.cl.hpp"
#include "05_hyb.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/sparse/convert.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void opencl_hyb(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::Hyb<T> a = gpulab::to_hyb(p.matrix);
    const gpulab::ClBuffer<std::int32_t> ell_column(a.ell.column), row(a.rest.row), column(a.rest.column);
    const gpulab::ClBuffer<T> ell_value(a.ell.value), value(a.rest.value), x(p.x);
    gpulab::ClBuffer<T> out(p.matrix.rows);

    const cl_ulong rows = a.ell.rows, width = a.ell.width, entries = a.rest.nonzeros();
    cl::Kernel multiply_ell = gpulab::opencl_kernel(ell_cl, "spmv", gpulab::real_option<T>());
    gpulab::set_args(multiply_ell, ell_column.data(), ell_value.data(), x.data(), out.data(), rows, width);
    cl::Kernel add_coo = gpulab::opencl_kernel(hyb_cl, "add_coo", gpulab::real_option<T>());
    gpulab::set_args(add_coo, row.data(), column.data(), value.data(), x.data(), out.data(), entries);

    constexpr std::size_t local = 128;
    watch.tile(local, "rows");
    watch.tile(local, "nnz");
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        gpulab::enqueue(queue, multiply_ell, gpulab::global_size(rows, local), local, events.add());
        if (entries > 0) gpulab::enqueue(queue, add_coo, gpulab::global_size(entries, local), local, events.add());
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(opencl_hyb);

} // namespace spmv
