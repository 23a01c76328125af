// Rung 1: one in-order queue, OpenCL's counterpart of cuda_sync_pageable.
//
// What CUDA calls a stream is a command queue in OpenCL. An in-order queue runs one command after the other: strip up,
// kernel, strip down, next strip. The host enqueues all commands without waiting and waits once, at the end; but the
// queue itself overlaps nothing.
//
// Limit: one command at a time.
#include "kernel.hpp"
#include "pass.hpp"

namespace streams {

void opencl_in_order(const Problem& p, Output& out, Stopwatch& watch) {
    const cl::CommandQueue plain = new_queue();
    const auto strips = equal_strips(p.image, p.streams);
    std::vector<gpulab::ClBuffer<unsigned char>> in, result;
    std::vector<cl::Kernel> kernels; // one per strip: the arguments belong to the kernel object
    for (const Strip& s : strips) {
        in.emplace_back(s.bytes);
        result.emplace_back(s.bytes);
        kernels.push_back(invert_kernel(in.back().data(), result.back().data(), 0, s.bytes, p));
    }

    name_tiles(watch, p);
    watch_passes(watch, out, in, result, out.pixels, [&](ClRecorder& r) {
        const cl::CommandQueue& queue = r.queue(plain);
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            queue.enqueueWriteBuffer(in[i].data(), CL_FALSE, 0, s.bytes, p.image.pixels.data() + s.first, nullptr,
                                     r.up(i, 0));
            gpulab::enqueue(queue, kernels[i], strip_items(s.bytes), group_items, r.kernel(i, 0));
            queue.enqueueReadBuffer(result[i].data(), CL_FALSE, 0, s.bytes, out.pixels.data() + s.first, nullptr,
                                    r.down(i, 0));
        }
        queue.finish();
    });
}

} // namespace streams
