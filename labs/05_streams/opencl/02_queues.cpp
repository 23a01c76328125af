// Rung 2: a queue for each strip, OpenCL's counterpart of cuda_async_pageable.
//
// Changed: queues are independent of each other, so commands of different queues may overlap; whether they do is the
// device's affair. And a buffer for each strip: OpenCL leaves undefined what happens when one queue changes a buffer
// that another one uses at the same time, even a different part of it.
//
// Limit: pageable host memory on a GPU. On a CPU device all queues share the same cores, and copies are work for them
// too.
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
            queues[i].enqueueWriteBuffer(in[i].data(), CL_FALSE, 0, s.bytes, p.image.pixels.data() + s.first, nullptr,
                                         r.up(i, i));
            queues[i].enqueueNDRangeKernel(kernels[i], cl::NullRange, strip_items(s.bytes), cl::NDRange(group_items),
                                           nullptr, r.kernel(i, i));
            queues[i].enqueueReadBuffer(result[i].data(), CL_FALSE, 0, s.bytes, out.pixels.data() + s.first, nullptr,
                                        r.down(i, i));
            queues[i].flush(); // hands the commands to the device; without it they may wait for finish()
        }
        for (const auto& queue : queues) queue.finish();
    });
}

} // namespace streams
