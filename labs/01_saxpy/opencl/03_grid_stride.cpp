// Rung 3: a fixed number of work-groups, the counterpart of cuda_grid_stride.
//
// Changed: the number of groups depends on the device (8 per compute unit), not on n. With G work-items in all, an
// item takes every G-th element. On a GPU neighbouring items read neighbouring elements at each step, so the loads
// are coalesced. watch_kernel is watch_queue for a computation that is one launch.
// Limit: on a GPU, the two 4-byte loads that an item has in flight. On a CPU, the order of the elements: a core runs
// one item after the other, each through its whole loop in steps of G elements, and uses one float of every cache line
// that it loads.
#include <algorithm>

#include "03_grid_stride.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

void opencl_grid_stride(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    gpulab::ClBuffer<float> out(p.size());

    cl::Kernel kernel = gpulab::opencl_kernel(grid_stride_cl, "saxpy");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);

    constexpr std::size_t local = 256;
    const std::size_t groups = 8 * static_cast<std::size_t>(gpulab::opencl().description().compute_units);
    const std::size_t global = std::min(groups * local, gpulab::global_size(n, local));
    watch.tile(groups * local);
    gpulab::watch_kernel(watch, kernel, global, local, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace saxpy
