// Rung 1: strip after strip, and the host waits for each copy. (Aula 17, the synchronous version)
//
// A copy up goes from the host to the device (H2D), a copy down from the device to the host (D2H). Commands given
// without a stream go into the default stream, which carries them out one after the other.
// The image lies in ordinary, pageable memory, which the system may move. So the CPU copies it piece by piece into
// page-locked memory of the driver, a staging buffer, and the GPU's copy engine fetches it from there. On the way up
// cudaMemcpy may return when the last piece is in the staging buffer; the kernel still waits for the copy, because it
// is in the same stream. On the way down cudaMemcpy returns when the data has arrived. So only one of copy up,
// kernel and copy down runs at any time (except for that last piece).
//
// Limit: the copy through the staging buffer, then the waiting.
#include "pass.cuh"

namespace streams {

void cuda_sync_pageable(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    const auto strips = equal_strips(p.image, p.streams);
    const unsigned colours = colour_bytes(p.image.channels);
    const unsigned char* const host_in = p.image.pixels.data();
    unsigned char* const host_out = out.pixels.data();

    name_tiles(watch, p);
    watch_passes(watch, out, {&in, &result}, {host_out, p.bytes()}, [&](CudaRecorder& r) {
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
