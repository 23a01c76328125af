// Rung 2: one block. (Alfaro Vigo & Rossetto, program 2.1)
//
// One thread per element and only threadIdx.x to tell them apart, so n can be no larger than the threads of one block
// (1024 on every GPU of today). More is a clear error here, not a silent half-done array.
// Limit: one block runs on one multiprocessor. All the others stand idle.
#include <string>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/poisoning.hpp"
#include "saxpy.hpp"

namespace saxpy {

/// One thread per element of one block; n = blockDim.x.
__global__ void one_block_kernel(float k, const float* a, const float* b, float* c) {
    const unsigned i = threadIdx.x;
    c[i] = k * a[i] + b[i];
}

void cuda_one_block(const Problem& p, Output& c, Stopwatch& watch) {
    int device = 0, most = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerBlock, device));
    if (p.size() > static_cast<std::size_t>(most))
        throw gpulab::Unsupported("n = " + std::to_string(p.size()) + " does not fit one block of " +
                                  std::to_string(most) + " threads");

    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    watch.tile(static_cast<std::size_t>(most));
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (p.size() == 0) return; // a block of no threads is an error
            one_block_kernel<<<1, static_cast<unsigned>(p.size()), 0, stream>>>(p.k, a.data(), b.data(), out.data());
        },
        gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace saxpy
