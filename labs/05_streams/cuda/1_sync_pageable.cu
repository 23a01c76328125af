// Rung 1: strip after strip, each step waited for. (Aula 17, the synchronous version)
//
// cudaMemcpy returns when the copy is done, so at any time one of three is at work: the way up, the multiprocessors, or
// the way down. The image lies in ordinary, pageable memory, which the system may move: the driver first copies it
// piece by piece into page-locked memory of its own, and from there the copy engine fetches it.
// Limit: that detour
// through the CPU, then the waiting.
#include "pass.cuh"

namespace streams {

void cuda_sync_pageable(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    const auto strips = equal_strips(p.image, p.streams);
    const unsigned colours = colour_bytes(p.image.channels);
    const unsigned char* const host_in = p.image.pixels.data();
    unsigned char* const host_out = out.pixels.data();

    watch_passes(watch, out, &result, {host_out, p.bytes()}, [&](CudaRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            r.begin_up(i, 0, nullptr);
            CUDA_CHECK(cudaMemcpy(in.data() + s.first, host_in + s.first, s.bytes, cudaMemcpyHostToDevice));
            r.end(nullptr);
            r.begin_kernel(i, 0, nullptr);
            invert_kernel<<<strip_blocks(s), block_threads>>>(in.data() + s.first, result.data() + s.first, s.bytes,
                                                              colours, p.work);
            CUDA_CHECK_LAUNCH();
            r.end(nullptr);
            r.begin_down(i, 0, nullptr);
            CUDA_CHECK(cudaMemcpy(host_out + s.first, result.data() + s.first, s.bytes, cudaMemcpyDeviceToHost));
            r.end(nullptr);
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    });
}

} // namespace streams
