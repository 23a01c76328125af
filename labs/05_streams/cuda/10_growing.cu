// Rung 10: the pipeline with strips that grow, the last twice as high as the first.
//
// Changed from cuda_pipeline: only the heights. The link carries a little less down than up while both directions are
// in use, so the way down falls further behind with every strip, and the later strips may take as much longer to come
// up without anybody waiting for them. Then the first one can be small, and the fill is short.
//
// Limit: as cuda_pipeline. What it gains is the difference between the two rates and no more.
#include "pass.cuh"

namespace streams {

void cuda_growing(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes()), host_out(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    const auto strips = growing_strips(p.image, p.streams);
    const gpulab::Stream up, work, down;
    std::vector<gpulab::Event> uploaded, inverted;
    for (std::size_t i = 0; i < strips.size(); ++i) {
        uploaded.emplace_back(cudaEventDisableTiming); // they only order
        inverted.emplace_back(cudaEventDisableTiming);
    }
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p);
    watch_passes(watch, out, {&in, &result}, host_out.span(), [&](CudaRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            r.begin_up(i, 0, up);
            CUDA_CHECK(
                cudaMemcpyAsync(in.data() + s.first, host_in.data() + s.first, s.bytes, cudaMemcpyHostToDevice, up));
            r.end(up);
            uploaded[i].record(up);

            CUDA_CHECK(cudaStreamWaitEvent(work, uploaded[i], 0));
            r.begin_kernel(i, 1, work);
            invert_kernel<<<strip_blocks(s), block_threads, 0, work>>>(in.data() + s.first, result.data() + s.first,
                                                                       s.bytes, colours, p.work);
            CUDA_CHECK_LAUNCH();
            r.end(work);
            inverted[i].record(work);

            CUDA_CHECK(cudaStreamWaitEvent(down, inverted[i], 0));
            r.begin_down(i, 2, down);
            CUDA_CHECK(cudaMemcpyAsync(host_out.data() + s.first, result.data() + s.first, s.bytes,
                                       cudaMemcpyDeviceToHost, down));
            r.end(down);
        }
        down.synchronize(); // the last copy down waits for everything else
    });
}

} // namespace streams
