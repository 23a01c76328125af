// Rung 7: no copies at all. The kernel reads the image where it lies, in mapped host memory, and writes the result
// there.
//
// Changed: page-locked memory gets an address on the device as well (zero copy). Every load crosses the link, and so
// does every store; both directions are busy without a single stream, and there is no fill and no drain. There are no
// strips, and --streams means nothing here. Worth it only when each byte is read once and written once, as here: a
// second read would cross the link a second time. The timeline shows one kernel and no overlap, because the overlap is
// inside it.
//
// 32 blocks are enough to fill the link, and better than a thousand, whose requests hinder each other (study `blocks`).
// With --work N there are 32 (1 + N / 4), so that the arithmetic gets the whole GPU.
//
// Limit: the link, which carries loads and stores at once less well than the copies of two engines.
#include "pass.cuh"

namespace streams {

void cuda_mapped(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::PinnedBuffer<unsigned char> in(p.bytes(), cudaHostAllocMapped), result(p.bytes(), cudaHostAllocMapped);
    std::memcpy(in.data(), p.image.pixels.data(), p.bytes());
    const unsigned char* const in_there = in.on_device();
    unsigned char* const result_there = result.on_device();
    const gpulab::Stream stream;
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p, link_blocks(p));
    watch_passes(watch, out, {}, result.span(), [&](CudaRecorder& r) {
        r.begin_kernel(0, 0, stream);
        invert_stride_kernel<<<link_blocks(p), block_threads, 0, stream>>>(in_there, result_there, p.bytes(), colours,
                                                                           p.work);
        CUDA_CHECK_LAUNCH();
        r.end(stream);
        stream.synchronize();
    });
}

} // namespace streams
