// Rung 2: the same from page-locked (pinned) memory.
//
// Changed: the image and the result lie in memory that the system promises not to move (cudaHostAlloc), so the copy
// engine reads and writes it directly, without the staging buffer. cudaMemcpy returns when the copy is complete, in
// both directions. Allocating such memory is slow, and other programs cannot use it: allocate it once and reuse it.
//
// Limit: the waiting. While a strip goes up nothing comes down, although the link can do both at once.
#include "pass.cuh"

namespace streams {

void cuda_sync_pinned(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes()), host_out(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    const auto strips = equal_strips(p.image, p.streams);
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p);
    watch_passes(watch, out, {&in, &result}, host_out.span(), [&](CudaRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            r.begin_up(i, 0, nullptr);
            CUDA_CHECK(cudaMemcpy(in.data() + s.first, host_in.data() + s.first, s.bytes, cudaMemcpyHostToDevice));
            r.end(nullptr);
            r.begin_kernel(i, 0, nullptr);
            invert_kernel<<<strip_blocks(s), block_threads>>>(in.data() + s.first, result.data() + s.first, s.bytes,
                                                              colours, p.work);
            CUDA_CHECK_LAUNCH();
            r.end(nullptr);
            r.begin_down(i, 0, nullptr);
            CUDA_CHECK(cudaMemcpy(host_out.data() + s.first, result.data() + s.first, s.bytes, cudaMemcpyDeviceToHost));
            r.end(nullptr);
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    });
}

} // namespace streams
