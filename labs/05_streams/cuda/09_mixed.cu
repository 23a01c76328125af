// Rung 9: the pipeline takes most of the rows; a small zero-copy kernel takes the last ones, at the same time.
//
// Changed from cuda_pipeline: the link shall never be idle. A copy engine pauses for a few microseconds between two
// strips, and while the first strip goes up nothing comes down. A kernel of a few blocks, which works in mapped host
// memory all through the pass, sends its loads and stores into these gaps. It must have few blocks: with many it would
// take the link away from the copy engines, which use it better. And its share of the rows must be such that both end
// at about the same time (study `mixed`).
//
// What came of it on an H200: up to 4 % with few strips, nothing from 8 on. Both ways of moving bytes share the one
// link, and what the kernel moves the copy engines lose. A negative result, kept because the idea is tempting.
//
// Limit: the link in both directions.
#include "pipeline.cuh"

namespace streams {

void cuda_mixed(const Problem& p, Output& out, Stopwatch& watch) {
    // The image in two parts: rows for the pipeline, and rows for the mapped kernel.
    const auto mapped_rows = static_cast<std::size_t>(p.mapped_share * static_cast<double>(p.image.height));
    const gpulab::Image piped{p.image.width, p.image.height - mapped_rows, p.image.channels, {}};
    const Strip mapped{piped.bytes(), mapped_rows * p.image.row_bytes()};

    gpulab::DeviceBuffer<unsigned char> in(piped.bytes()), result(piped.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes(), cudaHostAllocMapped);
    gpulab::PinnedBuffer<unsigned char> host_out(p.bytes(), cudaHostAllocMapped);
    const unsigned char* const in_there = host_in.on_device();
    unsigned char* const out_there = host_out.on_device();
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    Pipeline pipeline(equal_strips(piped, p.streams));
    const gpulab::Stream beside;
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p, link_blocks(p));
    watch_passes(watch, out, {&in, &result}, host_out.span(), [&](CudaRecorder& r) {
        if (mapped.bytes > 0) { // first, because nothing else can use the way down yet
            r.begin_mapped(3, beside);
            invert_stride_kernel<<<link_blocks(p), block_threads, 0, beside>>>(
                in_there + mapped.first, out_there + mapped.first, mapped.bytes, colours, p.work);
            CUDA_CHECK_LAUNCH();
            r.end(beside);
        }
        pipeline.issue(r, host_in.data(), in.data(), result.data(), host_out.data(), colours, p.work);
        pipeline.synchronize();
        beside.synchronize();
    });
}

} // namespace streams
