// OpenCL rung 1: two kernels per column, the counterpart of cuda_coalesced.
//
// One kernel divides column i by the pivot, the other updates the submatrix. An in-order queue runs them one after the
// other, so that each finds what the one before it wrote.
// Limit: memory for large matrices; for small ones the commands, two per column.
#include "01_two_kernels.cl.hpp"
#include "device_factors.hpp"

namespace lu {

void opencl_two_kernels(const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr std::size_t line = 64, columns = 32, rows = 4; // work-items of a group
    const ClFactors d(p);
    cl::Kernel scale = gpulab::opencl_kernel(two_kernels_cl, "scale");
    cl::Kernel update = gpulab::opencl_kernel(two_kernels_cl, "update");
    const auto n = static_cast<cl_int>(p.n);
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        for (cl_int i = 0; i + 1 < n; ++i) {
            const auto left = static_cast<std::size_t>(n - i - 1);
            gpulab::set_args(scale, d.lu.data(), n, i);
            gpulab::set_args(update, d.lu.data(), n, i);
            enqueue(queue, events, scale, left, 1, line, 1);
            enqueue(queue, events, update, left, left, columns, rows);
        }
    };
    const auto reset = [&](const cl::CommandQueue& queue) { d.restore(queue); };
    gpulab::watch_queue(watch, launch, reset);
    d.copy_to(f, false);
}

} // namespace lu
