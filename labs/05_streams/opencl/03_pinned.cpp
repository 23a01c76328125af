// Rung 3: host memory that the driver allocates (CL_MEM_ALLOC_HOST_PTR) and that stays mapped, OpenCL's counterpart of
// cuda_depth_first.
//
// Changed: only the memory. OpenCL has no call for page-locked memory, but drivers for GPUs page-lock buffers with this
// flag. Mapping such a buffer (clEnqueueMapBuffer) gives the host its address; copies from and to that address need no
// staging buffer. (The kernel works in device memory, unlike that of cuda_mapped.)
//
// Limit: on a GPU the link, with fill and drain. On a CPU device nothing is gained: page-locking changes nothing there.
#include "kernel.hpp"
#include "pass.hpp"

namespace streams {

void opencl_pinned(const Problem& p, Output& out, Stopwatch& watch) {
    const HostMemory host_in(p.bytes()), host_out(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    const auto strips = equal_strips(p.image, p.streams);
    std::vector<gpulab::ClBuffer<unsigned char>> in, result;
    std::vector<cl::CommandQueue> queues;
    std::vector<cl::Kernel> kernels; // one per strip: the arguments belong to the kernel object
    for (const Strip& s : strips) {
        in.emplace_back(s.bytes);
        result.emplace_back(s.bytes);
        queues.push_back(new_queue());
        kernels.push_back(invert_kernel(in.back().data(), result.back().data(), 0, s.bytes, p));
    }

    name_tiles(watch, p);
    watch_passes(watch, out, in, result, host_out.span(), [&](ClRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            const cl::CommandQueue& queue = r.queue(queues[i]);
            queue.enqueueWriteBuffer(in[i].data(), CL_FALSE, 0, s.bytes, host_in.data() + s.first, nullptr, r.up(i, i));
            gpulab::enqueue(queue, kernels[i], strip_items(s.bytes), group_items, r.kernel(i, i));
            queue.enqueueReadBuffer(result[i].data(), CL_FALSE, 0, s.bytes, host_out.data() + s.first, nullptr,
                                    r.down(i, i));
            queue.flush(); // hands the commands to the device; without it they may wait for finish()
        }
        for (const auto& queue : queues) r.queue(queue).finish();
    });
}

} // namespace streams
