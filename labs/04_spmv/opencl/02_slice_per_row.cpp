// OpenCL rung 2: a slice of the work-group per row, with the partial sums added up in local memory.
//
// Changed: 2 to 32 neighbouring items, a slice, share a row, so their loads lie side by side. The width of a slice
// follows the mean row length, because items beyond the end of a short row have no entry.
// OpenCL 1.2 does not promise that the items of a slice run in step, so every step of the sum needs a barrier of the
// whole group.
// Limit: those barriers. A row much longer than the mean is still the work of one slice.
#include <bit>

#include "02_slice_per_row.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "spmv.hpp"

namespace spmv {

template <class T> void opencl_slice_per_row(const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    const gpulab::ClBuffer<std::int32_t> row_start(narrow_offsets(p.matrix)), column(p.matrix.column);
    const gpulab::ClBuffer<T> value(p.matrix.value), x(p.x);
    gpulab::ClBuffer<T> out(p.matrix.rows);

    const std::size_t mean = p.matrix.nonzeros() / std::max<std::size_t>(p.matrix.rows, 1);
    const cl_uint width = std::bit_floor(static_cast<cl_uint>(std::clamp<std::size_t>(mean, 2, 32)));
    constexpr std::size_t local = 128;
    cl::Kernel kernel = gpulab::opencl_kernel(slice_per_row_cl, "spmv", gpulab::real_option<T>());
    const cl_ulong rows = p.matrix.rows;
    gpulab::set_args(kernel, row_start.data(), column.data(), value.data(), x.data(), out.data(), rows, width,
                     cl::Local(local * sizeof(T)));

    const std::size_t global = gpulab::round_up(std::max<std::size_t>(rows, 1) * width, local);
    watch.tile(local / width, "rows");
    watch.tile(width, "row length");
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(y);
}

INSTANTIATE_RUNG(opencl_slice_per_row);

} // namespace spmv
