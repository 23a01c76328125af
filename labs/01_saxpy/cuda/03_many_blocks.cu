// Rung 3: as many blocks as n needs, one thread per element. (Alfaro Vigo & Rossetto, program 2.2)
//
// Changed: the global index combines block and thread, i = blockIdx.x * blockDim.x + threadIdx.x, so any n is
// possible. The number of blocks is n / 256 rounded up. The last block may have threads without an element, so each
// thread first compares its index with n. Neighbouring threads read neighbouring floats: the 32 loads of a warp are
// one request for four sectors of 32 bytes, and every byte of these is used (coalesced).
// Limit: the bytes in flight. Each thread requests 8 bytes, computes one element and ends, and the device has to start
// n / 256 blocks.
#include "gpulab/cuda/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

/// One thread per element; any n.
__global__ void many_blocks_kernel(float k, const float* a, const float* b, float* c, std::size_t n) {
    // EXERCISE many-blocks
    //| // TODO: find the index of this thread's element. Compute c there; threads beyond the end do nothing.
    //| (void)k, (void)a, (void)b, (void)c, (void)n;
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; // 64 bits: 32 would wrap at 2^32
    if (i < n) c[i] = k * a[i] + b[i];
    // END EXERCISE
}

void cuda_many_blocks(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b); // allocate, copy in
    gpulab::DeviceBuffer<float> out(p.size());

    constexpr unsigned threads = 256;
    // EXERCISE many-blocks
    //| // TODO: how many blocks does this n need? (gpulab::grid_size() is never 0: a launch needs one block at least)
    //| const unsigned blocks = 1;
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    // END EXERCISE
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) { // only this is kernel time
            many_blocks_kernel<<<blocks, threads, 0, stream>>>(p.k, a.data(), b.data(), out.data(), p.size());
        },
        gpulab::poisoning(out)); // before every run, so that no earlier result can pass for this one

    out.copy_to(c); // copy out
}

} // namespace saxpy
