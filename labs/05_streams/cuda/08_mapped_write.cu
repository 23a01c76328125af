// Rung 8: a copy engine moves the image up, kernels write the result down. Two stages instead of three.
//
// Changed from cuda_pipeline: the kernel writes its result straight into mapped host memory. A store needs no answer,
// so a few multiprocessors can issue stores at the rate of the link, and a strip is on its way back as soon as its
// first warp is done. That was the idea.
// On an H200 it is slower than the pipeline (see MEASURED.md): stores and the copies up hinder each other on the link,
// and the more blocks store, the more they do (study `blocks`). The rung stays as a negative result.
//
// Limit: the link. With much work, arithmetic and the way down share one kernel and overlap only in part.
#include "pass.cuh"

namespace streams {

void cuda_mapped_write(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    gpulab::PinnedBuffer<unsigned char> result(p.bytes(), cudaHostAllocMapped);
    unsigned char* const result_there = result.on_device();
    const auto strips = equal_strips(p.image, p.streams);
    const gpulab::Stream up, work;
    std::vector<gpulab::Event> uploaded;
    for (std::size_t i = 0; i < strips.size(); ++i) uploaded.emplace_back(cudaEventDisableTiming);
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p, link_blocks(p));
    watch_passes(watch, out, {&in}, result.span(), [&](CudaRecorder& r) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            r.begin_up(i, 0, up);
            CUDA_CHECK(
                cudaMemcpyAsync(in.data() + s.first, host_in.data() + s.first, s.bytes, cudaMemcpyHostToDevice, up));
            r.end(up);
            uploaded[i].record(up);
            CUDA_CHECK(cudaStreamWaitEvent(work, uploaded[i], 0));
            r.begin_kernel(i, 1, work);
            invert_stride_kernel<<<link_blocks(p), block_threads, 0, work>>>(
                in.data() + s.first, result_there + s.first, s.bytes, colours, p.work);
            CUDA_CHECK_LAUNCH();
            r.end(work);
        }
        work.synchronize();
    });
}

} // namespace streams
