// Rung 10: the pipeline with strips that grow; the last is twice as high as the first.
//
// Changed from cuda_pipeline: only the heights. While both directions are in use the H200's link carries a little less
// down than up, so the copies down fall behind a little more with every strip. The later strips can take that much
// longer on the way up without delaying a copy down. In return the first strip is small, and the fill is short.
//
// Limit: as cuda_pipeline. The gain is the difference between the two rates, and no more.
#include "pipeline.cuh"

namespace streams {

void cuda_growing(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes()), host_out(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    Pipeline pipeline(growing_strips(p.image, p.streams));
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p);
    watch_passes(watch, out, {&in, &result}, host_out.span(), [&](CudaRecorder& r) {
        pipeline.issue(r, host_in.data(), in.data(), result.data(), host_out.data(), colours, p.work);
        pipeline.synchronize();
    });
}

} // namespace streams
