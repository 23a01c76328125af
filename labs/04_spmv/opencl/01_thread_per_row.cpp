// OpenCL rung 1: one work-item per row, the counterpart of cuda_thread_per_row.
//
// Limit: neighbouring items read entries that lie a row apart, so their loads are not coalesced on a GPU. On a CPU
// device each item reads its row from front to back, which suits the caches.
#include "01_thread_per_row.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void opencl_thread_per_row(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::ClBuffer<std::int32_t> row_start(narrow_offsets(p.matrix)), column(p.matrix.column);
    const gpulab::ClBuffer<T> value(p.matrix.value), x(p.x);
    gpulab::ClBuffer<T> out(p.matrix.rows);

    cl::Kernel kernel = gpulab::opencl_kernel(thread_per_row_cl, "spmv", gpulab::real_option<T>());
    const cl_ulong rows = p.matrix.rows;
    gpulab::set_args(kernel, row_start.data(), column.data(), value.data(), x.data(), out.data(), rows);

    constexpr std::size_t local = 128;
    const std::size_t global = gpulab::global_size(rows, local);
    watch.tile(local, "rows");
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(opencl_thread_per_row);

} // namespace spmv
