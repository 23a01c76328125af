// Rung 1: one in-order queue, OpenCL's counterpart of cuda_sync_pageable.
//
// What CUDA calls a stream is a command queue here. An in-order queue runs one command after the other: strip up,
// kernel, strip down, next strip. The commands are enqueued without waiting, and the host waits once, at the end; but
// the queue itself overlaps nothing.
// Limit: one command at a time.
#include "pass.hpp"

namespace streams {

void opencl_in_order(const Problem& p, Output& out, Stopwatch& watch) {
    const gpulab::ClBuffer<unsigned char> in(p.bytes());
    std::vector<gpulab::ClBuffer<unsigned char>> result;
    result.emplace_back(p.bytes());
    const cl::CommandQueue queue = new_queue();
    const auto strips = equal_strips(p.image, p.streams);
    std::vector<cl::Kernel> kernels;
    for (const Strip& s : strips) kernels.push_back(invert_kernel(in.data(), result[0].data(), s.first, s.bytes, p));

    watch_passes(watch, out, result, out.pixels, [&](ClRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            queue.enqueueWriteBuffer(in.data(), CL_FALSE, s.first, s.bytes, p.image.pixels.data() + s.first, nullptr,
                                     r.up(i, 0));
            queue.enqueueNDRangeKernel(kernels[i], cl::NullRange, strip_items(s.bytes), cl::NDRange(group_items),
                                       nullptr, r.kernel(i, 0));
            queue.enqueueReadBuffer(result[0].data(), CL_FALSE, s.first, s.bytes, out.pixels.data() + s.first, nullptr,
                                    r.down(i, 0));
        }
        queue.finish();
    });
}

} // namespace streams
