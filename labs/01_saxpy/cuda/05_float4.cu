// Rung 5: 16-byte loads, one float4 per thread.
//
// Changed from cuda_many_blocks: a thread moves four neighbouring floats with one instruction. float4 is CUDA's
// type for four floats at an address that is a multiple of 16; the cast of the pointers is valid because cudaMalloc
// returns such addresses. A thread then has 32 bytes of loads in flight instead of 8, and a quarter as many threads
// must be started.
//
// Why this helps: by Little's law, bytes in flight = bandwidth x latency. A multiprocessor of an H200 holds 2048
// threads, which limits the bytes in flight when each thread loads 8 (question 4 of the hand-out), and fewer are in
// flight whenever threads start, compute or store. The latency in this law is that of a memory under load, where
// requests wait for each other; a single load on an idle device returns sooner.
// Limit: the memory.
#include "gpulab/cuda/timing.hpp"
#include "saxpy.hpp"

namespace saxpy {

/// One thread per float4; any n. The arrays start at multiples of 16 bytes, as cudaMalloc gives them.
__global__ void float4_kernel(float k, const float* a, const float* b, float* c, std::size_t n) {
    // ANSWER many-blocks repair-stride
    const std::size_t v = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    const std::size_t vectors = n / 4;
    if (v < vectors) {
        const float4 x = reinterpret_cast<const float4*>(a)[v];
        const float4 y = reinterpret_cast<const float4*>(b)[v];
        reinterpret_cast<float4*>(c)[v] = {k * x.x + y.x, k * x.y + y.y, k * x.z + y.z, k * x.w + y.w};
    }

    // n mod 4 elements are left over at the end: the first threads of the grid take one each.
    const std::size_t i = vectors * 4 + v;
    if (v < 4 && i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}

void cuda_float4(const Problem& p, Output& c, Stopwatch& watch) {
    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    constexpr unsigned threads = 256;
    const unsigned blocks = gpulab::grid_size(p.size() / 4, threads);
    watch.tile(4 * threads);
    const auto launch = [&](cudaStream_t stream) {
        float4_kernel<<<blocks, threads, 0, stream>>>(p.k, a.data(), b.data(), out.data(), p.size());
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace saxpy
