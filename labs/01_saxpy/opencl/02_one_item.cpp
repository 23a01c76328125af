// Rung 2: one work-item per element, OpenCL's counterpart of cuda_many_blocks.
// (Alfaro Vigo & Rossetto, section 2.4; Bueno, chapter 3)
//
// What CUDA calls a thread is a work-item here, a block is a work-group, and the launch gives the total number of
// work-items instead of the number of groups: get_global_id(0) is the global index, ready made.
// The kernel's text is compiled when the program runs, for the device it finds.
// Limit: on a GPU as in CUDA; on a CPU the work-groups are loops, and starting n / 256 of them costs time.
#include <algorithm>

#include "02_one_item.cl.hpp"
#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "saxpy.hpp"

namespace saxpy {

void opencl_one_item(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b); // allocate, copy in
    gpulab::ClBuffer<float> out(p.size());

    cl::Kernel kernel = gpulab::opencl_kernel(one_item_cl, "saxpy");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);

    constexpr std::size_t local = 256;
    const std::size_t global = gpulab::round_up(std::max<std::size_t>(n, 1), local);
    watch.tile(local);
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) { // only this is kernel time
            queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(global), cl::NDRange(local), nullptr,
                                       events.add());
        },
        gpulab::poisoning(out));

    out.copy_to(c); // copy out
}

} // namespace saxpy
