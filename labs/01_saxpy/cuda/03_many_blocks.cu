// Rung 3: as many blocks as it takes, one thread per element. (Alfaro Vigo & Rossetto, program 2.2)
//
// Changed: the global index joins block and thread, i = blockIdx.x * blockDim.x + threadIdx.x, so n has no limit.
// The last block may be ragged, so each thread first asks whether its element exists.
// Neighbouring threads read neighbouring floats: a warp's 32 loads are one request for four sectors of 32 bytes, all of
// it used (coalesced).
// Limit: memory bandwidth, nearly. Each thread has just two loads in flight before it ends, and n / 256 blocks must
// be started and retired.
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "saxpy.hpp"

namespace saxpy {

/// One thread per element; any n.
__global__ void many_blocks_kernel(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; // 64 bits: 32 would wrap at 2^32
    if (i < n) c[i] = k * a[i] + b[i];
}

void cuda_many_blocks(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b); // allocate, copy in
    gpulab::DeviceBuffer<float> out(p.size());

    constexpr unsigned threads = 256;
    const unsigned blocks = gpulab::grid_size(p.size(), threads);
    watch.tile(threads);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) { // only this is kernel time
            many_blocks_kernel<<<blocks, threads, 0, stream>>>(p.k, a.data(), b.data(), out.data(), p.size());
        },
        gpulab::poisoning(out)); // before every run, so that no earlier result can pass for this one

    out.copy_to(c); // copy out
}

} // namespace saxpy
