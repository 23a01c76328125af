// OpenCL rung 3: in blocks, the counterpart of cuda_blocked_pivot.
//
// Changed: one group factorises a panel of 32 columns in one launch, in global memory, with barriers between the steps.
// A second kernel applies the exchanges to each other column and computes its rows of U. A third one updates the
// submatrix with tiles in local memory. That makes three commands for 32 columns instead of 128.
// Limit: the panel, which runs in a single group.
#include <string>

#include "03_blocked_pivot.cl.hpp"
#include "device_factors.hpp"

namespace lu {

void opencl_blocked_pivot(const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr std::size_t items = 64, line = 64, width = 32, side = 32, spread = 8;
    const ClFactors d(p);
    const std::string options = "-DITEMS=" + std::to_string(items);
    cl::Kernel panel = gpulab::opencl_kernel(blocked_pivot_cl, "panel", options);
    cl::Kernel follow = gpulab::opencl_kernel(blocked_pivot_cl, "follow", options);
    cl::Kernel update = gpulab::opencl_kernel(blocked_pivot_cl, "update", options);
    const auto n = static_cast<cl_int>(p.n);
    watch.tile(items).tile(width).tile(side).tile(spread);
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            for (std::size_t k0 = 0; k0 < p.n; k0 += width) {
                const auto columns = std::min(width, p.n - k0), left = p.n - k0 - columns;
                for (cl::Kernel* kernel : {&panel, &follow})
                    gpulab::set_args(*kernel, d.lu.data(), d.pivots.data(), n, static_cast<cl_int>(k0),
                                     static_cast<cl_int>(columns));
                gpulab::set_args(update, d.lu.data(), n, static_cast<cl_int>(k0), static_cast<cl_int>(columns));
                enqueue(queue, events, panel, items, 1, items, 1);
                enqueue(queue, events, follow, p.n - columns, 1, line, 1);
                const std::size_t tiles = gpulab::ceil_div(left, side) * spread;
                enqueue(queue, events, update, tiles, tiles, spread, spread);
            }
        },
        [&](const cl::CommandQueue& queue) { d.restore(queue); });
    d.copy_to(f, true);
}

} // namespace lu
