// Rung 11: one copy up for the whole image; one kernel tests the data itself to find out what has arrived, and writes
// its result straight into mapped host memory.
//
// Changed from cuda_pipeline: there are no strips, so neither direction makes pauses: --streams has no effect. But now
// no event signals that a part of the image has arrived, so the kernel tests the data. Before a pass every word of `in`
// holds a mark; a word that holds something else has arrived. A thread that has its words puts the marks back for the
// next pass.
// Where the image itself contains the mark, the thread waits for a flag: a copy of four bytes, in the same stream
// behind the image, sets it. This is slow, but the result is right.
// The result does not go down by copies: a copy engine cannot test which data have arrived. The kernel stores it in
// host memory, as in cuda_mapped.
//
// Assumptions that CUDA does not promise. A kernel that reads what a copy is writing is outside CUDA's memory model.
// This rung needs
//   1. that the copy makes progress while the kernel that waits for it runs;
//   2. that the copy writes each aligned word of 32 bits once and as a whole, in whatever order;
//   3. that a relaxed load at system scope sees a written word after finite time (it reads past the L1 cache);
//   4. that all words of the image are visible to a thread whose acquire load has seen the flag.
// The tests check the results on the GPU they run on. All-reduce kernels of TensorRT-LLM use such marks too ("Lamport"
// kernels, with negative zero as the mark), but there kernels do the writing. Use cuda_pipeline in a product.
//
// Limit: the link in both directions, and the start of copy and kernel.
#include "arrival.cuh"
#include "pass.cuh"

namespace streams {

namespace {

/// Four words, each as it is in memory now and not in a cache of this multiprocessor. ld.relaxed.sys is the load for
/// words that others, here a copy, write meanwhile; the compiler may neither merge nor drop it.
__device__ uint4 load_relaxed(const uint4* at) {
    uint4 v;
    asm volatile("ld.relaxed.sys.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at)
                 : "memory");
    return v;
}

/// One word. Because of the acquire, no later load of this thread sees anything older than the word.
__device__ unsigned load_acquire(const unsigned* at) {
    unsigned v;
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
    return v;
}

/// Transforms the image, 16 bytes at a time as they arrive. Neighbouring blocks take neighbouring bytes, from the first
/// on, because a copy usually arrives in this order. Blocks wait for the copy only, not for each other, so not all of
/// them need to be resident. @pre bytes is a multiple of 16
__global__ void invert_arriving(unsigned char* in, unsigned char* out, std::size_t bytes, unsigned colours,
                                unsigned work, const unsigned* last_complete, unsigned pass) {
    const std::size_t stride = gridDim.x * std::size_t{blockDim.x} * thread_bytes;
    for (std::size_t first = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) * thread_bytes; first < bytes;
         first += stride) {
        auto* const at = reinterpret_cast<uint4*>(in + first);
        const auto look = [&] { return load_relaxed(at); };
        const auto all_there = [&] { return load_acquire(last_complete) == pass; };
        const auto rest = [] { __nanosleep(100); }; // leaves the memory to threads whose words have arrived
        const uint4 v = when_arrived(look, all_there, rest);
        *at = make_uint4(nothing_yet, nothing_yet, nothing_yet, nothing_yet);
        *reinterpret_cast<uint4*>(out + first) = transform_16(v, colours, work);
    }
}

} // namespace

void cuda_polling(const Problem& p, Output& out, Stopwatch& watch) {
    // ANSWER pipeline
    // Without a copy engine the driver uses kernels, which might have to wait for the kernels that wait for them.
    int device = 0, engines = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&engines, cudaDevAttrAsyncEngineCount, device));
    if (engines == 0) throw gpulab::Unsupported("this device cannot copy while a kernel runs");

    // Up to 15 zeros behind the image go up with it, so that all 16 bytes of the last thread arrive too.
    const std::size_t padded = gpulab::round_up(p.bytes(), thread_bytes);
    const std::vector<unsigned char> marks = marked_bytes(padded);
    gpulab::DeviceBuffer<unsigned char> in(marks);
    gpulab::PinnedBuffer<unsigned char> host_in(padded), result(padded, cudaHostAllocMapped);
    unsigned char* const result_there = result.on_device();
    std::memset(host_in.data(), 0, padded);
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    gpulab::DeviceBuffer<unsigned> last_complete(std::vector<unsigned>{0}); // the last pass whose image has arrived
    gpulab::PinnedBuffer<unsigned> pass(1);
    pass[0] = 0;

    const gpulab::Stream up, work;
    const unsigned colours = colour_bytes(p.image.channels);

    name_tiles(watch, p, max_polling_blocks(p));
    watch_passes(watch, out, {}, result.span().first(p.bytes()), [&](CudaRecorder& r) {
        // Both copies are issued before the kernel, so that they cannot queue behind a kernel that waits for them,
        // whatever connection or engine they share.
        ++pass[0];
        r.begin_up(0, 0, up);
        CUDA_CHECK(cudaMemcpyAsync(in.data(), host_in.data(), padded, cudaMemcpyHostToDevice, up));
        r.end(up);
        CUDA_CHECK(cudaMemcpyAsync(last_complete.data(), pass.data(), pass.bytes(), cudaMemcpyHostToDevice, up));

        r.begin_polling(0, 1, work);
        invert_arriving<<<polling_blocks(p, padded), block_threads, 0, work>>>(in.data(), result_there, padded, colours,
                                                                               p.work, last_complete.data(), pass[0]);
        CUDA_CHECK_LAUNCH();
        r.end(work);
        up.synchronize(); // the flag's copy reads pass[0], which the next pass changes
        work.synchronize();
    });
    watch.leave_out([&] { expect_marks(in, marks); });
    // END ANSWER
}

} // namespace streams
