// OpenCL rung 2: partial pivoting on the device, the counterpart of cuda_columns_pivot.
//
// Changed: one group searches the column for the element of the largest magnitude, and a kernel exchanges the rows. The
// number of the pivot's row never leaves the device.
// Limit: four commands per column.
#include "02_columns_pivot.cl.hpp"
#include "device_factors.hpp"

namespace lu {

void opencl_columns_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr std::size_t items = 128, line = 64, columns = 32, rows = 4;
    const ClFactors d(p);
    cl::Kernel search = gpulab::opencl_kernel(columns_pivot_cl, "search");
    cl::Kernel exchange = gpulab::opencl_kernel(columns_pivot_cl, "exchange");
    cl::Kernel scale = gpulab::opencl_kernel(columns_pivot_cl, "scale");
    cl::Kernel update = gpulab::opencl_kernel(columns_pivot_cl, "update");
    const auto n = static_cast<cl_int>(p.n);
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        for (cl_int k = 0; k < n; ++k) {
            const auto below = static_cast<std::size_t>(n - k - 1);
            gpulab::set_args(search, d.lu.data(), d.pivots.data(), n, k, cl::Local(items * sizeof(double)),
                             cl::Local(items * sizeof(cl_int)));
            gpulab::set_args(exchange, d.lu.data(), d.pivots.data(), n, k);
            gpulab::set_args(scale, d.lu.data(), n, k);
            gpulab::set_args(update, d.lu.data(), n, k);
            enqueue(queue, events, search, items, 1, items, 1);
            enqueue(queue, events, exchange, p.n, 1, line, 1);
            enqueue(queue, events, scale, below, 1, line, 1);
            enqueue(queue, events, update, below, below, columns, rows);
        }
    };
    const auto reset = [&](const cl::CommandQueue& queue) { d.restore(queue); };
    gpulab::watch_queue(watch, launch, reset);
    d.copy_to(f, true);
}

} // namespace lu
