// Rung 3: a fixed number of work-groups, OpenCL's counterpart of cuda_grid_stride.
//
// Changed: the number of groups follows the device (compute units times a few), not n; a work-item strides by the
// global size. On a GPU neighbouring items read neighbouring elements at each step, which is what coalescing wants.
// Limit: on a GPU, the two loads an item has in flight. On a CPU device the order is a poor one: a core runs one item
// after the other, each through its whole loop with steps of G elements, and takes one float from every line it
// fetches.
#include <algorithm>

#include "03_grid_stride.cl.hpp"
#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
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
    const std::size_t global = std::min(groups * local, gpulab::round_up(std::max<std::size_t>(n, 1), local));
    watch.tile(groups * local);
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(global), cl::NDRange(local), nullptr,
                                       events.add());
        },
        gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace saxpy
