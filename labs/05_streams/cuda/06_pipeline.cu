// Rung 6: a pipeline of three stages: one stream for the copies up, one for the kernels, one for the copies down.
//
// Changed: a stream per stage instead of one per strip, however many strips there are. The order between stages is kept
// by events: the kernel of strip i waits until `uploaded[i]` has happened, its copy down until `inverted[i]` has. Each
// engine has one queue and is never asked to choose.
// --streams gives the number of strips here. Small strips at both ends gain nothing: with equal rates the way down
// stays behind the way up by the largest strip of all, wherever it stands.
//
// Limit: the slower direction of the link, one strip, and some four microseconds for each strip: a copy engine that is
// told to report the end of a copy begins the next one only when it has. A CUDA graph of the whole pass changes
// nothing, because the host is not what it waits for.
#include "pass.cuh"

namespace streams {

void cuda_pipeline(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes()), host_out(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    const auto strips = equal_strips(p.image, p.streams);
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
