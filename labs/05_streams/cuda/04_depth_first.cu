// Rung 4: page-locked memory and a stream for each strip, issued depth first: copy up, kernel, copy down of strip 0,
// then of strip 1, and so on. (Aula 17, asynchronous version I)
//
// Changed: only the memory. Now the calls return at once, and the copy engines work without the CPU: strip 1 goes up
// while strip 0 is inverted or comes down. The streams are created with cudaStreamNonBlocking; a stream made without
// that flag and the default stream would wait for each other.
//
// Limit: the first strip goes up while nothing comes down (fill), and the last comes down while nothing goes up
// (drain). The fewer the strips, the longer both last.
#include "pass.cuh"

namespace streams {

void cuda_depth_first(const Problem& p, Output& out, Stopwatch& watch) {
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
            // EXERCISE pipeline
            //| // TODO: put the three commands of strip i into streams[i]: its copy up, the kernel, its copy down. Use
            //| // cudaMemcpyAsync. Around each, tell the recorder: r.begin_up(i, i, streams[i]) and r.end(streams[i]),
            //| // then begin_kernel, begin_down.
            //| (void)s, (void)r, (void)colours;
            r.begin_up(i, i, streams[i]);
            CUDA_CHECK(cudaMemcpyAsync(in.data() + s.first, host_in.data() + s.first, s.bytes, cudaMemcpyHostToDevice,
                                       streams[i]));
            r.end(streams[i]);
            r.begin_kernel(i, i, streams[i]);
            invert_kernel<<<strip_blocks(s), block_threads, 0, streams[i]>>>(
                in.data() + s.first, result.data() + s.first, s.bytes, colours, p.work);
            CUDA_CHECK_LAUNCH();
            r.end(streams[i]);
            r.begin_down(i, i, streams[i]);
            CUDA_CHECK(cudaMemcpyAsync(host_out.data() + s.first, result.data() + s.first, s.bytes,
                                       cudaMemcpyDeviceToHost, streams[i]));
            r.end(streams[i]);
            // END EXERCISE
        }
        for (const auto& stream : streams) stream.synchronize();
    });
}

} // namespace streams
