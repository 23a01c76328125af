// Rung 2: a queue for each strip, OpenCL's counterpart of cuda_async_pageable.
//
// Changed: queues are independent, so commands of different queues may overlap; the device decides whether they do. And
// each strip has buffers of its own: the results of modifying a buffer in one queue while another queue uses it are
// undefined (OpenCL 1.2 specification, appendix A.1), and the rule makes no exception for different parts of a buffer.
//
// Limit: on a GPU, pageable host memory. On a CPU device all queues share the cores, and copies need cores too.
#include "kernel.hpp"
#include "pass.hpp"

namespace streams {

void opencl_queues(const Problem& p, Output& out, Stopwatch& watch) {
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
    watch_passes(watch, out, in, result, out.pixels, [&](ClRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            const cl::CommandQueue& queue = r.queue(queues[i]);
            queue.enqueueWriteBuffer(in[i].data(), CL_FALSE, 0, s.bytes, p.image.pixels.data() + s.first, nullptr,
                                     r.up(i, i));
            gpulab::enqueue(queue, kernels[i], strip_items(s.bytes), group_items, r.kernel(i, i));
            queue.enqueueReadBuffer(result[i].data(), CL_FALSE, 0, s.bytes, out.pixels.data() + s.first, nullptr,
                                    r.down(i, i));
            queue.flush(); // hands the commands to the device; without it they may wait for finish()
        }
        for (const auto& queue : queues) r.queue(queue).finish();
    });
}

} // namespace streams
