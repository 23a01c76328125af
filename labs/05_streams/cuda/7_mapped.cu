// Rung 7: no copies at all. The kernel reads the image where it lies, in mapped host memory, and writes the result
// there.
//
// Changed: page-locked memory gets an address on the device as well (zero copy). Every load crosses the link, and so
// does every store; thousands of warps in flight keep both directions busy without a single stream. There are no
// strips, and
// --streams means nothing here. Worth it only when each byte is read once and written once, as here: a second read
// would cross the link a second time. The timeline shows one kernel and no overlap, because the overlap is inside it.
// Limit: the link, driven by loads and stores instead of the copy engines.
#include "mapped.hpp"
#include "pass.cuh"

namespace streams {

void cuda_mapped(const Problem& p, Output& out, Stopwatch& watch) {
    MappedBytes in(p.bytes()), result(p.bytes());
    std::memcpy(in.host().data(), p.image.pixels.data(), p.bytes());
    const gpulab::Stream stream;
    const unsigned colours = colour_bytes(p.image.channels);

    watch_passes(watch, out, nullptr, result.host(), [&](CudaRecorder& r) {
        const Strip all{0, p.bytes()};
        r.begin_kernel(0, 0, stream);
        invert_kernel<<<strip_blocks(all), block_threads, 0, stream>>>(in.on_device(), result.on_device(), all.bytes,
                                                                       colours, p.work);
        CUDA_CHECK_LAUNCH();
        r.end(stream);
        stream.synchronize();
    });
    result.check_guard_bands();
}

} // namespace streams
