// Rung 3: host memory that the driver allocates (CL_MEM_ALLOC_HOST_PTR) and that stays mapped, OpenCL's counterpart of
// cuda_depth_first.
//
// Changed: only the memory. OpenCL has no word for page-locked memory; a buffer with this flag, mapped, is where
// drivers give it out, and copies from and to the mapped address go at the full rate and by themselves.
//
// Limit: on a GPU the link, with fill and drain. On a CPU device nothing is gained: all memory is alike there.
#include "kernel.hpp"
#include "pass.hpp"

namespace streams {

void opencl_mapped(const Problem& p, Output& out, Stopwatch& watch) {
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
            queues[i].enqueueWriteBuffer(in[i].data(), CL_FALSE, 0, s.bytes, host_in.data() + s.first, nullptr,
                                         r.up(i, i));
            queues[i].enqueueNDRangeKernel(kernels[i], cl::NullRange, strip_items(s.bytes), cl::NDRange(group_items),
                                           nullptr, r.kernel(i, i));
            queues[i].enqueueReadBuffer(result[i].data(), CL_FALSE, 0, s.bytes, host_out.data() + s.first, nullptr,
                                        r.down(i, i));
            queues[i].flush(); // hands the commands to the device; without it they may wait for finish()
        }
        for (const auto& queue : queues) queue.finish();
    });
}

} // namespace streams
