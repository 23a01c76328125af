// Rung 5: the same commands issued breadth first: all copies up, then all kernels, then all copies down.
// (Aula 17, asynchronous version II)
//
// Changed: only the order in which the host issues the commands. Each stream holds the same commands as before. The
// price of this order: no copy down can begin before the host has issued all copies up and all kernels.
//
// Limit: as cuda_depth_first, fill and drain. Which of the two orders is faster depends on the number of strips and on
// the number of copy engines.
#include "pass.cuh"

namespace streams {

void cuda_breadth_first(const Problem& p, Output& out, Stopwatch& watch) {
    // ANSWER pipeline
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes()), host_out(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    const auto strips = equal_strips(p.image, p.streams);
    const std::vector<gpulab::Stream> streams(strips.size());
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p);
    watch_passes(watch, out, {&in, &result}, host_out.span(), [&](CudaRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            r.begin_up(i, i, streams[i]);
            CUDA_CHECK(cudaMemcpyAsync(in.data() + s.first, host_in.data() + s.first, s.bytes, cudaMemcpyHostToDevice,
                                       streams[i]));
            r.end(streams[i]);
        }
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            r.begin_kernel(i, i, streams[i]);
            invert_kernel<<<strip_blocks(s), block_threads, 0, streams[i]>>>(
                in.data() + s.first, result.data() + s.first, s.bytes, colours, p.work);
            CUDA_CHECK_LAUNCH();
            r.end(streams[i]);
        }
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            r.begin_down(i, i, streams[i]);
            CUDA_CHECK(cudaMemcpyAsync(host_out.data() + s.first, result.data() + s.first, s.bytes,
                                       cudaMemcpyDeviceToHost, streams[i]));
            r.end(streams[i]);
        }
        for (const auto& stream : streams) stream.synchronize();
    });
    // END ANSWER
}

} // namespace streams
