// Rung 7: no copies at all. The kernel reads the image and writes the result in mapped host memory.
//
// Changed: page-locked memory also gets an address on the device (zero copy), so every load and every store of the
// kernel crosses the link. Both directions are busy with a single kernel, there is no fill and no drain, and there are
// no strips: --streams has no effect. This pays off only if each byte is read once and written once, as here; a second
// read might cross the link a second time. The timeline shows one kernel; the overlap is inside it.
// A few blocks fill the link. More do not make it faster, and many make it slower (study `blocks`). So the kernel has
// 32, and with --work N 32 (1 + N / 4), so that the arithmetic gets enough multiprocessors.
//
// Limit: the link. Loads and stores of a kernel use it less well than two copy engines.
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
