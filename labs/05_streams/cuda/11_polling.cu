// Rung 11: one copy up for the whole image; the kernels look at the data itself to see how much of it has arrived.
//
// Changed from cuda_growing: the way up is no longer cut into strips. A copy engine pauses after each copy, because it
// has to report its end; with a single copy it never pauses. But then nobody is told when a strip is there, and the
// kernels have to see for themselves. Before a pass every word of `in` holds a mark, and a word that holds something
// else has arrived. A kernel takes it and puts the mark back for the next pass. Where the image itself holds such a
// word, the kernel waits for a flag, which a copy of four bytes behind the image sets: slow, but right.
//
// The way down still goes in strips, because a copy engine cannot look at data. The way up, now without pauses, gains
// on it with every strip, so each strip may be larger than the one before: the last is ten times as high as the first.
// The fill is short, and there are few pauses.
//
// What it relies on: CUDA promises nothing to a kernel that reads what a copy is writing. Here it is enough that the
// copy goes on while the kernel runs, that its engine writes each aligned word of 32 bits once and at once, in whatever
// order, that a load past the L1 sees it (__ldcv asks for that, though CUDA calls it a hint), and that all data is
// visible once the flag is. Such marks also carry all-reduce between GPUs in TensorRT-LLM (its "Lamport" kernels, with
// negative zero as the mark), but there kernels do the writing. In a product take cuda_growing.
//
// Limit: the link in both directions, the pauses of one engine instead of two, and the first strip.
#include "arrival.cuh"
#include "pass.cuh"

namespace streams {

namespace {

/// A strip, word by word as it arrives. @pre bytes is a multiple of 16
__global__ void invert_arriving(unsigned char* in, unsigned char* out, std::size_t bytes, unsigned colours,
                                unsigned work, const unsigned* last_complete, unsigned pass) {
    const std::size_t stride = gridDim.x * std::size_t{blockDim.x} * thread_bytes;
    for (std::size_t first = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) * thread_bytes; first < bytes;
         first += stride) {
        auto* const at = reinterpret_cast<uint4*>(in + first);
        const auto look = [&] { return __ldcv(at); }; // past the L1 each time: what stands there would never change
        const auto all_there = [&] {
            if (__ldcv(last_complete) != pass) return false;
            __threadfence_system(); // so that no look after this is older than the flag
            return true;
        };
        const auto rest = [] { __nanosleep(100); }; // leaves the memory to threads whose words are there
        const uint4 v = when_arrived(look, all_there, rest);
        *at = make_uint4(nothing_yet, nothing_yet, nothing_yet, nothing_yet);
        *reinterpret_cast<uint4*>(out + first) = transform_16(v, colours, work);
    }
}

} // namespace

void cuda_polling(const Problem& p, Output& out, Stopwatch& watch) {
    // Without a copy engine the driver copies with kernels, and those might wait for the ones that wait for them.
    int device = 0, engines = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&engines, cudaDevAttrAsyncEngineCount, device));
    if (engines == 0) throw gpulab::Unsupported("this device cannot copy while a kernel runs");

    // A few zeros behind the image go up with it, so that each thread's 16 bytes are four words that arrive.
    const std::size_t padded = gpulab::round_up(p.bytes(), thread_bytes);
    const std::vector<unsigned char> marks = marked_bytes(padded);
    gpulab::DeviceBuffer<unsigned char> in(marks), result(padded);
    gpulab::PinnedBuffer<unsigned char> host_in(padded), host_out(p.bytes());
    std::memset(host_in.data(), 0, padded);
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    gpulab::DeviceBuffer<unsigned> last_complete(std::vector<unsigned>{0}); // the pass whose image is all there
    gpulab::PinnedBuffer<unsigned> pass(1);
    pass[0] = 0;

    const auto strips = growing_strips(p.image, p.streams, 10);
    const gpulab::Stream up, work, down;
    std::vector<gpulab::Event> inverted;
    for (std::size_t i = 0; i < strips.size(); ++i) inverted.emplace_back(cudaEventDisableTiming); // they only order
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p, most_polling_blocks(p));
    watch_passes(watch, out, {&result}, host_out.span(), [&](CudaRecorder& r) {
        // Both copies are handed over before the first kernel. Whatever connection or engine they share with it, they
        // are never behind a kernel that waits for them.
        ++pass[0];
        r.begin_up(0, 0, up);
        CUDA_CHECK(cudaMemcpyAsync(in.data(), host_in.data(), padded, cudaMemcpyHostToDevice, up));
        r.end(up);
        CUDA_CHECK(cudaMemcpyAsync(last_complete.data(), pass.data(), pass.bytes(), cudaMemcpyHostToDevice, up));

        std::size_t first = 0;
        for (std::size_t i = 0; i < strips.size(); ++i) {
            // Up to 15 bytes more than whole rows, so that the next strip begins with a thread's 16 bytes again.
            const std::size_t end = gpulab::round_up(strips[i].first + strips[i].bytes, thread_bytes);
            r.begin_polling(i, 1, work);
            invert_arriving<<<polling_blocks(p, end - first), block_threads, 0, work>>>(
                in.data() + first, result.data() + first, end - first, colours, p.work, last_complete.data(), pass[0]);
            CUDA_CHECK_LAUNCH();
            r.end(work);
            inverted[i].record(work);

            CUDA_CHECK(cudaStreamWaitEvent(down, inverted[i], 0));
            r.begin_down(i, 2, down);
            if (first < p.bytes()) // a strip of few bytes may have gone with the one before
                CUDA_CHECK(cudaMemcpyAsync(host_out.data() + first, result.data() + first,
                                           std::min(end, p.bytes()) - first, cudaMemcpyDeviceToHost, down));
            r.end(down);
            first = end;
        }
        up.synchronize(); // the flag's copy reads pass[0], which the next pass changes
        down.synchronize();
    });
    expect_marks(in, marks);
}

} // namespace streams
