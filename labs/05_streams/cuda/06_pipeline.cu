// Rung 6: a pipeline of three stages: one stream for the copies up, one for the kernels, one for the copies down.
//
// Changed: one stream per stage instead of one per strip, however many strips there are. Events keep the order between
// the stages. An event is a mark in a stream: record() puts it behind the commands given so far, and
// cudaStreamWaitEvent makes another stream wait until it is reached. The kernel of strip i waits for `uploaded[i]`, its
// copy down for `inverted[i]`.
// Here --streams gives the number of strips.
//
// Limit: the slower direction of the link, one strip of fill and drain, and a pause of a few microseconds for each
// strip. We infer that a copy engine reports the end of a copy before it begins the next one. The host is not the
// limit: a CUDA graph (the commands recorded once and launched with a single call) was tried and is not faster.
#include "pass.cuh"

namespace streams {

void cuda_pipeline(const Problem& p, Output& out, Stopwatch& watch) {
    // ANSWER pipeline
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes()), host_out(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    const auto strips = equal_strips(p.image, p.streams);
    const gpulab::Stream up, work, down;
    std::vector<gpulab::Event> uploaded, inverted;
    for (std::size_t i = 0; i < strips.size(); ++i) {
        uploaded.emplace_back(cudaEventDisableTiming); // they only keep order
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
    // END ANSWER
}

} // namespace streams
