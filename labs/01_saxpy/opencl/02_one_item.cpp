// Rung 2: one work-item per element, the counterpart of cuda_many_blocks.
// (Alfaro Vigo & Rossetto, section 2.4; Bueno, chapter 3)
//
// Changed: the helpers that all later rungs use. ClBuffer a(p.a) creates a buffer and copies p.a into it,
// opencl_kernel compiles the kernel, set_args sets its arguments, and watch_queue runs and times the launch. A CUDA
// thread is a work-item in OpenCL, and a block is a work-group. The launch gives the total number of work-items
// instead of the number of groups, and get_global_id(0) is the global index.
// Limit: on a GPU, 8 bytes in flight per work-item, as in CUDA. On a CPU, main memory: a work-group
// becomes a loop over its items there, and the cores share the n / 256 work-groups.
#include "02_one_item.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

void opencl_one_item(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b); // allocate, copy in
    gpulab::ClBuffer<float> out(p.size());

    cl::Kernel kernel = gpulab::opencl_kernel(one_item_cl, "saxpy");
    const cl_ulong n = p.size();
    gpulab::set_args(kernel, p.k, a.data(), b.data(), out.data(), n);

    constexpr std::size_t local = 256;
    const std::size_t global = gpulab::global_size(n, local);
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
