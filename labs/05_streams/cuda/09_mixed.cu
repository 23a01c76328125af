// Rung 9: the pipeline takes most of the rows; a small zero-copy kernel takes the last rows at the same time.
//
// Changed from cuda_pipeline: a second way to use the link. A copy engine pauses for a few microseconds between two
// strips, and while the first strip goes up nothing comes down. A kernel of a few blocks works in mapped host memory
// during the whole pass, so that its loads and stores can fill these gaps. It has few blocks, because many would take
// the link away from the copy engines, and its share of the rows is such that both parts end at about the same time
// (study `mixed`).
// On an H200 this gains a little with few strips and nothing with many (see MEASURED.md): all bytes share one link, and
// what the kernel moves, the copy engines move later. The rung stays as a negative result.
//
// Limit: the link, in both directions.
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
        if (mapped.bytes > 0) { // issued first: nothing else can use the way down yet
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
