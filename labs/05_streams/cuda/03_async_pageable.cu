// Rung 3: a stream for each strip, and still nothing overlaps. (Aula 17, the asynchronous version as printed)
//
// Changed from cuda_sync_pageable: cudaMemcpyAsync and the kernel of strip i go into stream i, and the host waits only
// at the end. A stream keeps its own commands in order and promises nothing about other streams, so strip 1 could go up
// while strip 0 is inverted. It does not, because the memory is pageable: the data goes through the driver's staging
// buffer, and CUDA says that such a call "might be synchronous with respect to host" (CUDA Runtime API, "API
// synchronization behavior"). Run this rung with --lanes to see whether it is.
//
// Limit: as cuda_sync_pageable.
#include "pass.cuh"

namespace streams {

void cuda_async_pageable(const Problem& p, Output& out, Stopwatch& watch) {
    // ANSWER pipeline
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    const unsigned char* const host_in = p.image.pixels.data();
    unsigned char* const host_out = out.pixels.data();
    const auto strips = equal_strips(p.image, p.streams);
    const std::vector<gpulab::Stream> streams(strips.size());
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p);
    watch_passes(watch, out, {&in, &result}, {host_out, p.bytes()}, [&](CudaRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            r.begin_up(i, i, streams[i]);
            CUDA_CHECK(
                cudaMemcpyAsync(in.data() + s.first, host_in + s.first, s.bytes, cudaMemcpyHostToDevice, streams[i]));
            r.end(streams[i]);
            r.begin_kernel(i, i, streams[i]);
            invert_kernel<<<strip_blocks(s), block_threads, 0, streams[i]>>>(
                in.data() + s.first, result.data() + s.first, s.bytes, colours, p.work);
            CUDA_CHECK_LAUNCH();
            r.end(streams[i]);
            r.begin_down(i, i, streams[i]);
            CUDA_CHECK(cudaMemcpyAsync(host_out + s.first, result.data() + s.first, s.bytes, cudaMemcpyDeviceToHost,
                                       streams[i]));
            r.end(streams[i]);
        }
        for (const auto& stream : streams) stream.synchronize();
    });
    // END ANSWER
}

} // namespace streams
